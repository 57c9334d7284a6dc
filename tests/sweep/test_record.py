"""The files of a sweep and of its jobs, and the command line that a resumed sweep restores."""

import json
import os
from pathlib import Path

import pytest

from heedful.base.errors import UserError
from heedful.launch.resume import restore_sweep_arguments
from heedful.runs.folder import trim_logs
from heedful.runs.result import RunResult
from heedful.runs.sweep_record import Job, Sweep
from heedful.sweep import job
from heedful.sweep.job import outcome, record_ending

ARGUMENTS = ["-m", "seed=1,2", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "sweep.dry_run=false"]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    Sweep(arguments=ARGUMENTS).write(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", ["", "[1]", '{"jobs": []}', '{"arguments": [], "jobs": [{"number": 0}]}'])
def test_a_damaged_sweep_file_is_reported(text: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(UserError, match=r"is not the folder of a sweep: its sweep\.json cannot be read"):
        Sweep.read(tmp_path)


@pytest.mark.parametrize("folder", ["/tmp", "..", "a/b", ""])
def test_the_folder_of_a_job_is_in_that_of_the_sweep(folder: str) -> None:
    with pytest.raises(ValueError, match="folder"):
        Job(number=0, overrides=[], folder=folder)


def test_a_sweep_resumes_with_its_original_command_line(sweep: Path) -> None:
    folders = [f"hydra.sweep.dir={sweep}", f"sweep.resume={sweep}"]
    assert restore_sweep_arguments([f"sweep.resume={sweep}"]) == [*ARGUMENTS[:4], *folders]
    arguments = restore_sweep_arguments([f"sweep.resume={sweep}", "hydra/launcher=basic"])
    assert arguments == ["-m", "seed=1,2", "hydra/launcher=basic", *folders]


def test_other_overrides_are_refused(sweep: Path) -> None:
    with pytest.raises(UserError, match=r"takes all overrides from the sweep: remove seed=3 optimizer\.lr=1"):
        restore_sweep_arguments(["seed=3", f"sweep.resume={sweep}", "optimizer.lr=1"])


def test_a_sweep_of_another_user_is_announced(sweep: Path, monkeypatch, capsys) -> None:
    restore_sweep_arguments([f"sweep.resume={sweep}"])
    assert "belongs to another user" not in capsys.readouterr().out
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    restore_sweep_arguments([f"sweep.resume={sweep}"])
    assert f"{sweep} belongs to another user" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "null", "none"])
def test_a_folder_without_a_sweep_is_reported(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    message = r"has no sweep\.json, which .*: nothing can be resumed\. Run the command of the sweep again"
    with pytest.raises(UserError, match=message):
        restore_sweep_arguments([f"sweep.resume={text}"])


def test_rows_logged_after_the_checkpoint_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "gradients.csv"
    path.write_text("epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n1,10,0.2\n2,1")  # the last line is truncated
    trim_logs(tmp_path, 10)
    assert path.read_text() == "epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n"
    trim_logs(tmp_path, 0)
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
    ],
)
def test_the_outcome_depends_on_the_record_and_the_exit_code(tmp_path, record, code, status, error) -> None:
    if record:
        (tmp_path / "result.json").write_text(record if isinstance(record, str) else json.dumps(record))
    record_ending(tmp_path, code, Job(number=0, overrides=["seed=1"], folder="0"))
    assert outcome(job.recorded_result(tmp_path))[::3] == (status, error)


def test_the_outcome_of_a_completed_job(tmp_path: Path) -> None:
    record = {"status": "completed", "metrics": {"val/acc": {"value": 0.5}}, "seconds": {"total": 3.0}}
    (tmp_path / "result.json").write_text(json.dumps(record))
    result = job.recorded_result(tmp_path)
    assert (*outcome(result), job.score_label([RunResult(), result])) == ("completed", "0.500", "3.0 s", "", "accuracy")
    assert job.score_label([RunResult(metrics={"val/r2": result.metrics["val/acc"]})]) == "R²"
