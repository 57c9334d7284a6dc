"""What a run writes into its folder, and when."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from omegaconf import OmegaConf
from pytorch_lightning.utilities import rank_zero_only

from src.run import Run
from src.run_result import RunResult


def new_run(path: Path, seed: int = 1) -> Run:
    paths, extras = {"output_dir": str(path)}, {"ignore_warnings": False}
    return Run(OmegaConf.create({"task_name": "train", "seed": seed, "paths": paths, "extras": extras}))


def read(path: Path) -> tuple[int, int | None]:
    """The seeds in `config.yaml` and in the record."""
    return OmegaConf.load(path / "config.yaml").seed, RunResult.load(path).seed


def test_a_new_folder_is_written_at_once(tmp_path: Path) -> None:
    with new_run(tmp_path / "run"):
        assert read(tmp_path / "run") == (1, None)
    assert read(tmp_path / "run") == (1, 1)


def test_an_earlier_run_is_replaced_on_request_only(tmp_path: Path) -> None:
    for seed in (1, 2):
        with new_run(tmp_path, seed):
            pass
    assert read(tmp_path) == (1, 1)
    with new_run(tmp_path, 2) as run:
        run.replace_earlier_run()
        assert read(tmp_path) == (2, 1)
    assert read(tmp_path) == (2, 2)


def test_a_tracker_that_cannot_be_closed_does_not_change_the_status(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tracker = Mock(close=Mock(side_effect=ConnectionError("no route")))
    with new_run(tmp_path) as run:
        run.trackers = [tracker]
    assert RunResult.load(tmp_path).status == "completed"
    assert "Mock could not be closed: no route" in caplog.text


def test_only_the_main_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    with new_run(tmp_path) as run:
        run.replace_earlier_run()
    assert not list(tmp_path.iterdir())
