"""The record of `heedful faithfulness` in a run's folder: the measures of each text, and the names of both."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from heedful.base.files import read_arrays, validate, write_arrays
from heedful.runs.run_files import read_existing

RECORD_FILE = "faithfulness.npz"
FORMAT = 8  # version of the file and of the measures; runs with a record of another version are measured again
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # shares of tokens that are erased (DeYoung et al. 2020, section 4.2)
MIN_RANGE = 1e-6  # smallest distance between a text's limits for which a normalized value is defined

ATTENTION, ATTENTION_GRADIENT = "attention", "attention × gradient"
GRADIENT, INTEGRATED = "gradient × input", "integrated gradients"
LEAVE_ONE_OUT, RANDOM, UNIFORM = "leave-one-out", "random", "uniform"
RANKINGS = (ATTENTION, ATTENTION_GRADIENT, GRADIENT, INTEGRATED, LEAVE_ONE_OUT, RANDOM, UNIFORM)
WITHOUT_ATTENTION = ("none", "uniform")  # choices of attention without trained weights


class Column(NamedTuple):
    """A measure of a ranking, with its heading in tables."""

    name: str
    heading: str
    faithful_values: str  # high or low: the values that faithful rankings have


COLUMNS = (
    Column("normalized_comprehensiveness", "normalized comprehensiveness", "high"),
    Column("normalized_sufficiency", "normalized sufficiency", "low"),
    Column("comprehensiveness_removal", "comprehensiveness", "high"),
    Column("sufficiency_removal", "sufficiency", "low"),
)


class Options(BaseModel):
    """What determines the values of a record, and what describes them."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    checkpoint: str  # SHA-256 of the file
    data: str = ""  # fingerprint of the texts and their splits
    texts: int  # requested number of texts
    seed: int
    measures: list[str]
    rankings: list[str] = []
    skipped: int = 0  # number of texts without a token that the model knows


@dataclass(frozen=True)
class FaithfulnessRecord:
    """The results of a run on n texts, with R rankings.

    Args:
        arrays: arrays by name: n×R×5 for comprehensiveness and sufficiency by removal, n×R for other measures of
            rankings, `probabilities` n×C, attention `weights` n×L with zeros after the end of the text, and n for all
            others.
    """

    options: Options
    arrays: dict[str, np.ndarray]

    def values(self, name: str, ranking: str) -> np.ndarray | None:
        """Return the value of a measure for each text, NaN if undefined; None if it was not computed for the ranking.

        Args:
            name: name of an array, which is averaged over the erased shares if it is n×R×5; or
                `normalized_comprehensiveness` or `normalized_sufficiency`, for values normalized by their limits.
        """
        measure = name.removeprefix("normalized_")
        if measure != name:
            values = self.values(f"{measure}_removal", ranking)
            if values is None or f"{measure}_low" not in self.arrays:
                return None
            return normalize(values, self.arrays[f"{measure}_low"], self.arrays[f"{measure}_high"])
        if name not in self.arrays or ranking not in self.options.rankings:
            return None
        values = self.arrays[name][:, self.options.rankings.index(ranking)]  # n, or n×5
        return values.mean(1) if values.ndim == 2 else values

    def has(self, options: Options) -> bool:
        """Return whether the record has these measures of the same checkpoint and sample of texts."""
        names = ("checkpoint", "data", "texts", "seed")
        is_same = all(getattr(self.options, name) == getattr(options, name) for name in names)
        return is_same and set(options.measures) <= set(self.options.measures)

    def save(self, run: Path, file: str = RECORD_FILE) -> None:
        write_arrays(run / file, options=np.array(self.options.model_dump_json()), **self.arrays)

    @classmethod
    def load(cls, run: Path, file: str = RECORD_FILE) -> "FaithfulnessRecord | None":
        """Read a record of a run; None if there is no record, or if it has another format version."""

        def read(path: Path) -> "FaithfulnessRecord | None":
            arrays = read_arrays(path)
            options = json.loads(str(arrays.pop("options")))
            return None if options["format"] != FORMAT else cls(validate(options, Options), arrays)

        return read_existing(run / file, read, "delete it, and run the command again")


def normalize(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return (value − low) / (high − low): 0 at the lower, 1 at the upper limit; NaN if high − low < MIN_RANGE."""
    is_defined = high - low >= MIN_RANGE
    return np.where(is_defined, (values - low) / np.where(is_defined, high - low, 1), np.nan)
