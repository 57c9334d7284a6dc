"""The file of a sweep, and the command line and the jobs that it restores."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from src.errors import UserError
from src.run_folder import trim
from src.sweep.jobs import describe, pending_jobs, restore_arguments, shared_overrides
from src.sweep.run import resume_from_last_checkpoint
from src.sweep_record import Job, Sweep
from tests.damage import damaged, few_examples, trees

SWEEP = {
    "format": 1,
    "arguments": ["-m", "seed=1,2"],
    "jobs": [{"number": 0, "overrides": ["seed=1"], "folder": "0_seed-1"}],
}
ARGUMENTS = ["-m", "seed=1,2", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "sweep.dry_run=false"]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    jobs = [Job(number=i, overrides=[f"seed={i}"], folder=str(i)) for i in (0, 1)]
    Sweep(arguments=ARGUMENTS, jobs=jobs).write(tmp_path)
    return tmp_path


@few_examples
@given(record=st.one_of(trees, damaged(SWEEP)))
def test_any_sweep_file_is_read_or_reported(record: Any, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(record))
    try:
        Sweep.read(tmp_path)
    except UserError as error:
        assert "sweep.json" in str(error) and "start the sweep anew" in str(error)


def test_a_linked_folder_of_a_job_is_refused(sweep: Path) -> None:
    (sweep / "other").mkdir()
    (sweep / "1").symlink_to(sweep / "other")
    with pytest.raises(UserError, match="1 is a link or outside the sweep's folder"):
        pending_jobs(Sweep.read(sweep), sweep)


def test_a_sweep_resumes_with_its_original_command_line(sweep: Path) -> None:
    folders = [f'hydra.sweep.dir="{sweep}"', f'sweep.resume="{sweep}"']
    assert restore_arguments([f"sweep.resume={sweep}"]) == [*ARGUMENTS[:4], *folders]
    assert restore_arguments(["seed=3"]) == ["seed=3"]


def test_another_launcher_drops_the_options_of_the_previous_launcher(sweep: Path) -> None:
    arguments = restore_arguments([f"sweep.resume={sweep}", "hydra/launcher=basic"])
    assert arguments[:3] == ["-m", "seed=1,2", "hydra/launcher=basic"]


def test_other_overrides_are_refused(sweep: Path) -> None:
    with pytest.raises(UserError, match=r"takes all overrides from the sweep: remove seed=3 optimizer\.lr=1"):
        restore_arguments(["seed=3", f"sweep.resume={sweep}", "optimizer.lr=1"])


def test_a_sweep_of_another_user_is_announced(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    restore_arguments([f"sweep.resume={sweep}"])
    assert "belongs to another user" not in capsys.readouterr().out
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    restore_arguments([f"sweep.resume={sweep}"])
    assert f"{sweep} belongs to another user" in capsys.readouterr().out


@pytest.mark.parametrize("empty", ["sweep.resume=", "sweep.resume=null", "sweep.resume=' '"])
def test_an_empty_folder_is_reported(empty: str) -> None:
    with pytest.raises(UserError, match=r"sweep\.resume= is empty: name the folder"):
        restore_arguments([empty])


def test_a_folder_without_a_sweep_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not the folder of a sweep: it has no sweep\.json"):
        restore_arguments([f"sweep.resume={tmp_path}"])


def test_overrides_of_jobs_are_shared_or_varying() -> None:
    jobs = [["seed=1", "logger=csv"], ["seed=2", "logger=csv"], ["seed=1", "logger=csv", "tags=[a]"]]
    shared = shared_overrides(jobs)
    assert shared == {"logger=csv"}
    assert describe(Job(number=2, overrides=jobs[2], folder="2"), shared) == "seed=1 'tags=[a]'"
    assert shared_overrides(jobs[:1]) == set()


def test_rows_logged_after_the_checkpoint_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n1,10,0.2\n2,1")  # the last line is truncated
    trim(path, 10)
    assert path.read_text() == "epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n"
    trim(path, 0)
    assert not path.exists()


def test_a_job_with_a_damaged_checkpoint_restarts(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").write_bytes(b"truncated")
    (tmp_path / "gradients.csv").write_text("step,part,norm\n0,encoder,1\n")
    cfg = OmegaConf.create({"train": True, "ckpt_path": None})
    resume_from_last_checkpoint(cfg, tmp_path)
    assert cfg.ckpt_path is None
    assert not (tmp_path / "gradients.csv").exists()
