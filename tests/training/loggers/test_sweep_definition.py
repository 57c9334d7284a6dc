"""docs/wandb_sweep.yaml defines a search that W&B controls."""

from typing import Any

import pytest
import yaml

from tests.helpers import ROOT, repository


@pytest.fixture(scope="module")
def definition() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docs" / "wandb_sweep.yaml").read_text())


def create_command(definition: dict[str, Any], values: dict[str, Any]) -> list[str]:
    """Return the command that W&B's agent runs for these values."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args  # the import takes seconds

    arguments = create_sweep_command_args({"args": {key: {"value": value} for key, value in values.items()}})
    arguments["env"] = ["/usr/bin/env"]
    return [
        word for item in definition["command"] for word in (arguments[item[2:-1]] if item.startswith("${") else [item])
    ]


def test_the_definition_conforms_to_the_schema_of_wandb(definition: dict[str, Any]) -> None:
    sweeps = pytest.importorskip("sweeps.config")
    assert sweeps.schema_violations_from_proposed_config(definition) == []
    invalid = {**definition, "parameters": {"model/encoder": {"values": ["rnn"]}}}
    assert sweeps.schema_violations_from_proposed_config(invalid), (
        "the schema allows slashes in names: groups can now be parameters"
    )


def test_every_value_makes_a_valid_command_line(definition: dict[str, Any]) -> None:
    """A command line is validated for each value of an option and for both ends of each range; choices are files."""
    choices = {
        name: spec.get("values") or [spec[key] for key in ("value", "min", "max") if key in spec]
        for name, spec in definition["parameters"].items()
    }
    files = repository("train")
    for name in choices.keys() & files.groups.keys():
        assert {*choices[name]} <= {*files.groups[name]}
        del choices[name][1:]
    for i in range(max(map(len, choices.values()))):
        values = {name: values[i % len(values)] for name, values in choices.items()}
        words = create_command(definition, values)
        prefix = "/usr/bin/env python -m src.train logger.wandb.offline=false experiment=report"
        assert " ".join(words[:6]) == prefix
        assert {"experiment=report", f"optimizer.lr={values['optimizer.lr']}"} <= set(words)
        files.compose(words[4:])  # raises the error that the command would report


def test_the_optimized_metric_is_that_of_the_best_checkpoint(definition: dict[str, Any]) -> None:
    with (ROOT / "conf" / "callbacks" / "checkpoints.yaml").open() as file:
        best = yaml.safe_load(file)["best_checkpoint"]
    assert definition["metric"]["name"] == best["monitor"]
    assert definition["metric"]["goal"] == "minimize"  # val/loss
