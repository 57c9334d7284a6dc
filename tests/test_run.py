"""The files that a run writes and removes in its folder."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from omegaconf import OmegaConf
from pytorch_lightning.utilities import rank_zero_only

from src.errors import UserError
from src.files import lock_folder
from src.run import Run
from src.run_result import RunResult


def new_run(path: Path, seed: int = 1) -> Run:
    paths, extras = {"output_dir": str(path)}, {"ignore_warnings": False}
    values = {"task_name": "train", "train": True, "seed": seed, "paths": paths, "extras": extras, "ckpt_path": None}
    return Run(OmegaConf.create(values))


def read_seeds(path: Path) -> tuple[int, int | None]:
    """The seeds in `config.yaml` and in `result.json`."""
    return OmegaConf.load(path / "config.yaml").seed, RunResult.load(path).seed


def test_the_configuration_is_written_at_the_start(tmp_path: Path) -> None:
    with new_run(tmp_path / "run"):
        assert read_seeds(tmp_path / "run") == (1, None)
    assert read_seeds(tmp_path / "run") == (1, 1)


def test_an_earlier_run_is_replaced_when_loggers_are_attached(tmp_path: Path) -> None:
    for seed in (1, 2):
        with new_run(tmp_path, seed):
            pass
    assert read_seeds(tmp_path) == (1, 1)
    with new_run(tmp_path, 2) as run:
        run.attach_loggers([])
        assert read_seeds(tmp_path) == (2, None)
    assert read_seeds(tmp_path) == (2, 2)


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
        run.attach_loggers([])
    assert not list(tmp_path.iterdir())


def test_a_new_run_removes_only_the_files_of_the_earlier_run(tmp_path: Path) -> None:
    linked_folder, folder = tmp_path / "other", tmp_path / "run"
    run_files = ["predictions/test.npz", "page.html", "gradients.csv", "attention.json", "pictures/strip_test_4.png"]
    other_files = ["notes.txt", "predictions/mine.npz", "pictures/mine.png", "checkpoints/mine.ckpt", "wandb/run-1/log"]
    for path in [*(folder / name for name in [*run_files, *other_files]), linked_folder / "events.out.tfevents.1"]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (folder / "tensorboard").symlink_to(linked_folder)
    with pytest.raises(UserError), new_run(folder) as run:
        raise UserError("a mistake in the data")
    assert all((folder / name).exists() for name in run_files)
    with new_run(folder) as run:
        run.attach_loggers([])
    assert not any((folder / name).exists() for name in run_files)
    assert all((folder / name).exists() for name in other_files)
    assert (linked_folder / "events.out.tfevents.1").exists()


def test_a_resumed_run_keeps_its_files(tmp_path: Path) -> None:
    with new_run(tmp_path) as run:
        (tmp_path / "checkpoints").mkdir()
        (tmp_path / "checkpoints" / "last.ckpt").touch()
        run.cfg.ckpt_path = str(tmp_path / "checkpoints" / "last.ckpt")
        run.attach_loggers([], steps=3)
    assert (tmp_path / "checkpoints" / "last.ckpt").exists()


@pytest.mark.parametrize("file", ["result.json", "checkpoints/best.ckpt"])
def test_an_evaluation_does_not_replace_a_training(tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"format": 1, "seconds": {"total": 3.0, "fit": 2.0}}')
    run = new_run(tmp_path)
    run.cfg.train = False
    with pytest.raises(UserError, match=r"contains a training run.*choose another hydra\.run\.dir"), run:
        pass
    assert not (tmp_path / "config.yaml").exists()


def test_two_runs_cannot_write_to_one_folder_at_the_same_time(tmp_path: Path) -> None:
    with new_run(tmp_path):
        with pytest.raises(UserError, match=f"another process is writing to {tmp_path}: wait"), new_run(tmp_path, 2):
            pass
        assert read_seeds(tmp_path) == (1, None)
    with new_run(tmp_path), lock_folder(tmp_path) as acquired:
        assert not acquired
    with lock_folder(tmp_path) as acquired:
        assert acquired
