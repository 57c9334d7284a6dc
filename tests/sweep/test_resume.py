"""Resuming a sweep and its jobs."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from src.errors import UserError
from src.run_folder import trim
from src.sweep.jobs import Job, Sweep
from src.sweep.resume import restore_sweep_arguments, resume_from_last_checkpoint

STARTED = ["-m", "seed=1,2", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "sweep.dry_run=false"]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    Sweep(tmp_path, STARTED, [Job(0, ["seed=1"], "0"), Job(1, ["seed=2"], "1")]).write()
    return tmp_path


def test_a_sweep_resumes_with_its_original_command_line(sweep: Path) -> None:
    folders = [f'hydra.sweep.dir="{sweep}"', f'sweep.resume="{sweep}"']
    assert restore_sweep_arguments([f"sweep.resume={sweep}"]) == [*STARTED[:4], *folders]


def test_another_launcher_drops_the_options_of_the_previous_one(sweep: Path) -> None:
    arguments = restore_sweep_arguments([f"sweep.resume={sweep}", "hydra/launcher=basic"])
    assert arguments[:3] == ["-m", "seed=1,2", "hydra/launcher=basic"]


def test_other_overrides_are_refused(sweep: Path) -> None:
    with pytest.raises(UserError, match=r"takes all overrides from the sweep: remove seed=3 optimizer\.lr=1"):
        restore_sweep_arguments(["seed=3", f"sweep.resume={sweep}", "optimizer.lr=1"])


def test_a_folder_without_a_sweep_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not the folder of a sweep: it has no sweep\.json"):
        restore_sweep_arguments([f"sweep.resume={tmp_path}"])


def test_a_damaged_sweep_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"jobs": [{"number": 1}]}')
    with pytest.raises(UserError, match=r"sweep\.json cannot be read .*start the sweep anew"):
        restore_sweep_arguments([f"sweep.resume={tmp_path}"])


def test_rows_logged_after_the_checkpoint_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n1,10,0.2\n2,1")  # the last line is truncated
    trim(path, 10)
    assert path.read_text() == "epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n"
    trim(path, 0)
    assert not path.exists()
    trim(path, 0)  # no file


def test_a_job_with_a_damaged_checkpoint_restarts(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").write_bytes(b"cut short")
    (tmp_path / "gradients.csv").write_text("step,part,norm\n0,encoder,1\n")
    cfg = OmegaConf.create({"train": True, "ckpt_path": None})
    resume_from_last_checkpoint(cfg, tmp_path)
    assert cfg.ckpt_path is None
    assert not (tmp_path / "gradients.csv").exists()
