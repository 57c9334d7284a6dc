"""docs/wandb_sweep.yaml: a search that W&B controls."""

from typing import Any

import pytest
import yaml

from src.cli.entry import read_command_line
from tests.helpers import ROOT


@pytest.fixture(scope="module")
def definition() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docs" / "wandb_sweep.yaml").read_text())


def line(definition: dict[str, Any], values: dict[str, Any]) -> list[str]:
    """The command that W&B's agent runs for these values."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args  # its import takes seconds

    arguments = create_sweep_command_args({"args": {key: {"value": value} for key, value in values.items()}})
    arguments["env"] = ["/usr/bin/env"]
    return [
        word for part in definition["command"] for word in (arguments[part[2:-1]] if part.startswith("${") else [part])
    ]


def test_it_is_one_by_the_schema_of_wandb(definition: dict[str, Any]) -> None:
    sweeps = pytest.importorskip("sweeps.config")
    assert sweeps.schema_violations_from_proposed_config(definition) == []
    wrong = {**definition, "parameters": {"model/encoder": {"values": ["rnn"]}}}
    assert sweeps.schema_violations_from_proposed_config(wrong), "a slash in a name: then groups can be parameters"


def test_every_value_is_a_command_line_of_ours(definition: dict[str, Any]) -> None:
    """Each value, and both ends of each range, make a run."""
    choices = {
        name: spec.get("values") or [spec[key] for key in ("value", "min", "max") if key in spec]
        for name, spec in definition["parameters"].items()
    }
    for i in range(max(map(len, choices.values()))):
        values = {name: values[i % len(values)] for name, values in choices.items()}
        words = line(definition, values)
        assert words[:6] == [
            "/usr/bin/env",
            "python",
            "-m",
            "src.train",
            "logger.wandb.offline=false",
            "experiment=report",
        ]
        assert {"experiment=report", f"optimizer.lr={values['optimizer.lr']}"} <= set(words)
        read_command_line(words[4:], "train")  # raises what the command would report


def test_it_optimizes_what_runs_log(definition: dict[str, Any]) -> None:
    with (ROOT / "conf" / "callbacks" / "checkpoints.yaml").open() as file:
        best = yaml.safe_load(file)["best_checkpoint"]
    assert definition["metric"]["name"] == best["monitor"]
    assert definition["metric"]["goal"].startswith(best["mode"])
