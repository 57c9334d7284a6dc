"""The folder of a run: its first files, its lock, and refusals."""

from contextlib import AbstractContextManager
from pathlib import Path
from shutil import rmtree
from unittest.mock import Mock

import pytest
import torch
from omegaconf import OmegaConf
from pytorch_lightning.utilities import rank_zero_only

from heedful.base.errors import UserError
from heedful.base.files import lock_folder
from heedful.runs.environment import Launch
from heedful.runs.folder import remove_if_unused
from heedful.runs.result import RunResult
from heedful.runs.run_files import Predictions
from heedful.training.run import Run, open_run
from tests.helpers import train


def new_run(
    path: Path, seed: int = 1, ckpt_path: str | None = None, threads: int | None = None
) -> AbstractContextManager[Run]:
    paths, extras = {"output_dir": str(path)}, {"ignore_warnings": False}
    values = {"task_name": "train", "seed": seed, "paths": paths, "extras": extras}
    cfg = OmegaConf.create({**values, "ckpt_path": ckpt_path, "threads": threads})
    return open_run(cfg, Launch(), resumes=ckpt_path is not None)


def read_seeds(path: Path) -> tuple[int, int | None]:
    """The seeds in `config.yaml` and in `result.json`."""
    return OmegaConf.load(path / "config.yaml").seed, RunResult.load(path).seed


def test_the_configuration_is_written_at_the_start(tmp_path: Path) -> None:
    with new_run(tmp_path / "run"):
        assert read_seeds(tmp_path / "run") == (1, None)
    assert read_seeds(tmp_path / "run") == (1, 1)


def test_a_run_writes_its_record_once_and_reads_no_predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attention callback, the scores and the page receive the predictions, also those of the linear model."""
    save, statuses = RunResult.save, list[str]()
    monkeypatch.setattr(RunResult, "save", lambda result, run: (statuses.append(result.status), save(result, run)))
    monkeypatch.setattr(Predictions, "load", Mock(side_effect=AssertionError("a file of predictions is read")))
    result = train(tmp_path / "run", "callbacks=default", "~callbacks.progress", draws=True)
    assert statuses == ["completed"]
    assert {"test/acc", "val/acc"} <= result["metrics"].keys() & result["baseline"]["metrics"].keys()
    page = (tmp_path / "run" / "page.html").read_text()
    assert all(title in page for title in ("Linear model", "least certain", "When it says this confidence"))


def test_a_folder_holds_one_run(tmp_path: Path) -> None:
    with new_run(tmp_path):
        pass
    no_checkpoint = rf"{tmp_path} already contains a run: choose another hydra\.run\.dir, or delete the folder$"
    with pytest.raises(UserError, match=no_checkpoint), new_run(tmp_path, 2):
        pass
    last = tmp_path / "checkpoints" / "last.ckpt"
    last.parent.mkdir()
    last.touch()
    with pytest.raises(UserError, match=rf"or resume the run with ckpt_path={tmp_path}"), new_run(tmp_path, 2):
        pass
    assert read_seeds(tmp_path) == (1, 1)


@pytest.mark.parametrize("error", [None, FileNotFoundError("metrics.csv")])
def test_a_run_whose_folder_was_deleted_fails(error: Exception | None, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{tmp_path}/run was deleted or moved"), new_run(tmp_path / "run") as run:
        rmtree(run.folder)
        if error:
            raise error
    assert RunResult.load(tmp_path / "run").status == "failed"


def test_a_run_resumes_only_in_its_own_folder(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", ckpt_path=str(tmp_path / "other" / "checkpoints" / "last.ckpt"))
    with pytest.raises(UserError, match="a training resumes in the folder of its own run, not in"), run:
        pass


def test_a_run_has_the_number_of_threads_of_its_configuration(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        with new_run(tmp_path / "as before"):
            assert torch.get_num_threads() == before
        with new_run(tmp_path / "three", threads=3):
            assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_a_tracker_that_cannot_be_closed_does_not_change_the_status(tmp_path, caplog) -> None:
    tracker = Mock(close=Mock(side_effect=ConnectionError("no route")))
    with new_run(tmp_path) as run:
        run.trackers = [tracker]
    assert RunResult.load(tmp_path).status == "completed"
    assert "Mock could not be closed: no route" in caplog.text


def test_only_the_main_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    with new_run(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_two_runs_cannot_write_to_one_folder_at_the_same_time(tmp_path: Path) -> None:
    with new_run(tmp_path):
        with pytest.raises(UserError, match=f"another process is writing to {tmp_path}: wait"), new_run(tmp_path, 2):
            pass
        assert read_seeds(tmp_path) == (1, None)
        with lock_folder(tmp_path) as acquired:
            assert not acquired
        remove_if_unused(tmp_path, "train")  # as the process that was refused does
        assert tmp_path.is_dir()
    with lock_folder(tmp_path) as acquired:
        assert acquired
