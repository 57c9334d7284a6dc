"""The files of a sweep and of its jobs, and the command line that a resumed sweep restores."""

import json
import multiprocessing
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from src.config.resume import restore_sweep_arguments
from src.errors import UserError
from src.files import lock_folder
from src.run_folder import trim
from src.sweep import job
from src.sweep.job import outcome, record_ending
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
    Sweep(arguments=ARGUMENTS).write(tmp_path)
    return tmp_path


@few_examples
@given(record=st.one_of(trees, damaged(SWEEP)))
def test_any_sweep_file_is_read_or_reported(record: Any, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(record))
    try:
        Sweep.read(tmp_path)
    except UserError as error:
        assert "sweep.json" in str(error) and "start the sweep anew" in str(error)


@pytest.mark.parametrize("folder", ["/tmp", "..", "a/b", ""])
def test_the_folder_of_a_job_is_in_that_of_the_sweep(folder: str) -> None:
    with pytest.raises(ValueError, match="folder"):
        Job(number=0, overrides=[], folder=folder)


def test_a_sweep_resumes_with_its_original_command_line(sweep: Path) -> None:
    folders = [f'hydra.sweep.dir="{sweep}"', f'sweep.resume="{sweep}"']
    assert restore_sweep_arguments([f"sweep.resume={sweep}"]) == [*ARGUMENTS[:4], *folders]
    arguments = restore_sweep_arguments([f"sweep.resume={sweep}", "hydra/launcher=basic"])
    assert arguments == ["-m", "seed=1,2", "hydra/launcher=basic", *folders]


def test_other_overrides_are_refused(sweep: Path) -> None:
    with pytest.raises(UserError, match=r"takes all overrides from the sweep: remove seed=3 optimizer\.lr=1"):
        restore_sweep_arguments(["seed=3", f"sweep.resume={sweep}", "optimizer.lr=1"])


def test_a_sweep_of_another_user_is_announced(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    restore_sweep_arguments([f"sweep.resume={sweep}"])
    assert "belongs to another user" not in capsys.readouterr().out
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    restore_sweep_arguments([f"sweep.resume={sweep}"])
    assert f"{sweep} belongs to another user" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "null", "none"])
def test_a_folder_without_a_sweep_is_reported(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"is not the folder of a sweep: it has no sweep\.json"):
        restore_sweep_arguments([f"sweep.resume={text}"])


def test_rows_logged_after_the_checkpoint_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n1,10,0.2\n2,1")  # the last line is truncated
    trim(path, 10)
    assert path.read_text() == "epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n"
    trim(path, 0)
    assert not path.exists()


@pytest.mark.parametrize(
    ("record", "code", "status", "error"),
    [
        ('{"status": "comp', -9, "failed", "killed by SIGKILL, possibly because memory ran out"),
        ({}, -11, "failed", "killed by SIGSEGV"),
        ({}, -2, "interrupted", "stopped by SIGINT"),
        ({}, 143, "interrupted", "stopped by SIGTERM"),
        ({}, 200, "failed", "ended with exit code 200"),
        ({"status": "completed"}, 0, "completed", ""),
        ({"status": "completed"}, 1, "failed", "ended with exit code 1"),  # it died after writing its record
        ({"status": "failed", "error": None}, 1, "failed", "ended with exit code 1"),  # it died drawing its reports
        ({"status": "failed", "error": "in the record"}, 1, "failed", "in the record"),
        ({"status": "interrupted", "error": "by SIGINT"}, 130, "interrupted", "by SIGINT"),
        ({"status": "pruned", "error": "is worse"}, 0, "pruned", "is worse"),
    ],
)
def test_the_outcome_depends_on_the_record_and_the_exit_code(
    tmp_path: Path, record: Any, code: int, status: str, error: str
) -> None:
    if record:
        (tmp_path / "result.json").write_text(record if isinstance(record, str) else json.dumps(record))
    record_ending(tmp_path, code, Job(number=0, overrides=["seed=1"], folder="0"))
    assert outcome(job.recorded_result(tmp_path))[::3] == (status, error)


def test_the_outcome_of_a_completed_job(tmp_path: Path) -> None:
    record = {"status": "completed", "metrics": {"val/acc": {"value": 0.5}}, "seconds": {"total": 3.0}}
    (tmp_path / "result.json").write_text(json.dumps(record))
    assert outcome(job.recorded_result(tmp_path)) == ("completed", "0.500", "3.0 s", "")


@pytest.mark.parametrize(("status", "calls"), [("failed", ["memory", "task"]), ("completed", [])])
def test_a_job_that_is_not_completed_reuses_freed_memory_before_its_task(
    status: str, calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"status": status}))
    monkeypatch.setattr(job, "reuse_freed_memory", lambda: (tmp_path / "calls").open("a").write("memory "))
    assert run_task(lambda cfg: (tmp_path / "calls").open("a").write("task "), tmp_path, monkeypatch) == 0
    assert (tmp_path / "calls").read_text().split() == calls if calls else not (tmp_path / "calls").exists()


def test_a_job_that_another_process_runs_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "LOCK_TIMEOUT", 0.0)
    with lock_folder(tmp_path):
        assert run_task(lambda cfg: None, tmp_path, monkeypatch) == 1


def run_task(task: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """Run a task as a job in a forked process, and return the exit code."""
    module = ModuleType("task_of_a_test")
    module.main = SimpleNamespace(__wrapped__=task)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(job, "COMMAND", module.__name__)
    monkeypatch.setattr(job, "_set_up_process", lambda *args: None)
    for name in ("configure_log", "HydraConfig"):
        monkeypatch.setattr(job, name, Mock())
    node = {"runtime": {"output_dir": str(folder)}, "overrides": {"task": ["seed=3"]}, "run": {}}
    hydra = {"hydra": {**node, "job_logging": {}}}
    cfg = OmegaConf.create({"train": False, "ckpt_path": None, "trainer": {"devices": 1}})
    process = multiprocessing.get_context("fork").Process(target=job.run_job, args=(cfg, hydra, False, {}))
    process.start()
    process.join()
    return process.exitcode
