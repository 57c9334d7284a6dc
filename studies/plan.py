"""The plan of the study, `studies/plan.yaml`: sweeps with their seeds, and the results in the source documents."""

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

ROOT = Path(__file__).resolve().parents[1]
PLAN, RESULTS = ROOT / "studies" / "plan.yaml", ROOT / "docs" / "results"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedSweep(_Record):
    """A sweep that is run once for each seed.

    Args:
        overrides: arguments of `src.train -m`, without the seed and the folders.
        data: source of the texts: imdb, sst2, rotten_tomatoes (which the user must download) or bundled (part of
            Heedful).
        document: the result that the source document states, "none" if it states no number; None if the sweep is not a
            preset of a document.
    """

    seeds: tuple[int, ...]
    overrides: tuple[str, ...]
    data: Literal["imdb", "sst2", "rotten_tomatoes", "bundled"] = "imdb"
    document: str | None = None


class Plan(_Record):
    """The sweeps by name, in the order in which they are run."""

    sweeps: dict[str, PlannedSweep]


def load_plan() -> Plan:
    return Plan.model_validate(yaml.safe_load(PLAN.read_text(encoding="utf-8")))


def release_file(sweep: str, seed: int) -> Path:
    """Return the path of the released records of a sweep with one seed."""
    return RESULTS / sweep / f"seed_{seed}.parquet"
