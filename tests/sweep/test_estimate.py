"""Estimates of a job's duration from earlier runs."""

import json
import os
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from src.sweep.estimate import estimate_seconds
from src.sweep.table import describe_total
from tests.helpers import small_config

EPOCHS = [4.0, 2.0, 3.0]  # seconds


def write_run(folder: Path, cfg: DictConfig, total: float = 14.0, status: str = "completed", age: int = 0) -> None:
    folder.mkdir(parents=True)
    OmegaConf.save(cfg, folder / "config.yaml", resolve=True)
    record = {"status": status, "seconds": {"total": total, "fit": sum(EPOCHS), "per_epoch": EPOCHS}}
    (folder / "result.json").write_text(json.dumps(record))
    os.utime(folder, (10**9 - age, 10**9 - age))


def compose(folder: Path, *overrides: str) -> DictConfig:
    return small_config(folder / "run", overrides)


def test_an_estimate_adds_the_time_outside_the_epochs(tmp_path: Path) -> None:
    write_run(tmp_path / "train" / "runs" / "first", compose(tmp_path))
    jobs = [compose(tmp_path, f"trainer.max_epochs={epochs}", f"seed={epochs}") for epochs in (0, 1, 7)]
    assert estimate_seconds(jobs, tmp_path) == pytest.approx([5, 5 + 3, 5 + 7 * 3])


@pytest.mark.parametrize(
    "override", ["model.encoder.hidden_dim=5", "data.batch_size=3", "callbacks=none", "logger=csv", "test=false"]
)
def test_a_run_with_other_options_gives_no_estimate(tmp_path: Path, override: str) -> None:
    write_run(tmp_path / "train" / "multiruns" / "sweep" / "0", compose(tmp_path))
    assert estimate_seconds([compose(tmp_path), compose(tmp_path, override)], tmp_path) == [pytest.approx(65), None]


def test_the_time_of_a_validation_is_estimated_from_that_of_the_test(tmp_path: Path) -> None:
    """Three epochs take 9 s of training and 3 × 0.5 s of validation, which leaves 3.5 of the 14 s."""
    run = tmp_path / "train" / "runs" / "first"
    write_run(run, compose(tmp_path))
    record = json.loads((run / "result.json").read_text())
    record["seconds"]["test"], record["data"] = 2.0, {"val": 10, "test": 40}
    (run / "result.json").write_text(json.dumps(record))
    assert estimate_seconds([compose(tmp_path, "trainer.max_epochs=7")], tmp_path) == pytest.approx([3.5 + 7 * 3.5])


def test_an_estimate_uses_the_latest_completed_run(tmp_path: Path) -> None:
    cfg = compose(tmp_path, "trainer.max_epochs=1")
    write_run(tmp_path / "train" / "runs" / "old", cfg, total=99, age=2)
    write_run(tmp_path / "train" / "runs" / "new", cfg, total=10, age=1)
    write_run(tmp_path / "train" / "runs" / "failed", cfg, total=50, status="failed")
    assert estimate_seconds([cfg], tmp_path) == pytest.approx([1 + 3])


def test_without_an_earlier_run_there_is_no_estimate(tmp_path: Path) -> None:
    assert estimate_seconds([compose(tmp_path)], tmp_path) == [None]
    endless = compose(tmp_path, "trainer.max_epochs=-1")
    write_run(tmp_path / "train" / "runs" / "first", endless)
    assert estimate_seconds([endless], tmp_path) == [None]


def test_the_total_states_how_many_jobs_it_covers() -> None:
    assert describe_total([None, None], start=4).startswith("Their duration is unknown")
    assert describe_total([56.0, None, 30.0], start=4).startswith("2 of them take about 1 min 30 s")
    assert describe_total([56.0, 30.0], start=4).startswith("One after another, they take about 1 min 30 s")
