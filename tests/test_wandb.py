"""W&B, offline: the same names as in the CSV file, the configuration, and the pictures."""

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import recorded, train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wandb") / "run"
    train(folder, "logger=[csv,wandb]", "callbacks=checkpoints", "tags=[one,two]", "seed=5")
    return folder


@pytest.fixture(scope="module")
def log(folder: Path) -> dict[str, Any]:
    return recorded(folder)


def test_the_last_values_are_those_of_the_csv_file(folder: Path, log: dict[str, Any]) -> None:
    last: dict[str, float] = {}
    with (folder / "csv" / "metrics.csv").open() as file:
        for row in csv.DictReader(file):
            last |= {name: float(value) for name, value in row.items() if value}
    summary = log["summary"]
    names = {name for name in last if "/" in name}
    assert {"train/loss", "train/acc", "val/loss", "test/f1_macro", "test/auroc", "test/ece"} <= names
    others = {"trainer/global_step", *(name for name in summary if name.startswith("pictures/"))}
    assert {name for name in summary if "/" in name} - others == names
    for name in names:
        assert summary[name] == pytest.approx(last[name]), name


def test_the_run_is_described(log: dict[str, Any]) -> None:
    assert log["config"]["seed"] == 5
    assert log["config"]["model"]["encoder"]["hidden_dim"] == 6
    assert log["config"]["optimizer"]["_target_"] == "torch.optim.Adam"
    assert (log["project"], log["tags"]) == ("heed", ["one", "two"])
    assert (log["state"], log["exit_code"]) == ("finished", 0)


def test_the_pictures_are_kept(folder: Path, log: dict[str, Any]) -> None:
    summary = log["summary"]
    drawn = {f"pictures/{path.stem}" for path in (folder / "pictures").iterdir()}
    assert {"pictures/curves", "pictures/confusion"} <= drawn
    assert {name for name in summary if name.startswith("pictures/")} == drawn
    for name in drawn:
        (kept,) = (folder / "wandb").glob(f"offline-run-*/files/{summary[name]['path']}")
        assert kept.stat().st_size == summary[name]["size"] > 1000
