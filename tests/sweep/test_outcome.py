"""The result of a job, read from its folder."""

import json
from pathlib import Path

import pytest

from src.files import lock_folder
from src.sweep.jobs import accuracy, current_result, require_ending


def write_record(folder: Path, **fields: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "result.json").write_text(json.dumps({"format": 1, **fields}))


def test_a_job_without_files_is_pending(tmp_path: Path) -> None:
    assert current_result(tmp_path / "none").status == "pending"
    assert not (tmp_path / "none").exists()
    (tmp_path / "empty").mkdir()
    assert current_result(tmp_path / "empty").status == "pending"


def test_a_truncated_record_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"status": "comp')
    assert current_result(tmp_path).status == "pending"


def test_a_job_with_a_locked_folder_is_running(tmp_path: Path) -> None:
    with lock_folder(tmp_path) as first, lock_folder(tmp_path) as second:
        assert (first, second) == (True, False)
        assert current_result(tmp_path).status == "running"
    assert current_result(tmp_path).status == "pending"


def test_the_outcome_of_a_completed_job(tmp_path: Path) -> None:
    best = {"monitor": "val/loss", "value": 0.25}
    write_record(tmp_path, status="completed", metrics={"test/acc": {"value": 0.5}}, seconds={"total": 3.0}, best=best)
    result = current_result(tmp_path)
    assert (result.status, accuracy(result), result.seconds.total, result.best.value) == ("completed", 0.5, 3.0, 0.25)


@pytest.mark.parametrize(
    ("record", "code", "status", "error"),
    [
        ({}, -9, "failed", "reason"),
        ({}, -2, "interrupted", "reason"),
        ({}, 143, "interrupted", "reason"),
        ({"status": "completed"}, 0, "completed", None),
        ({"status": "completed"}, 1, "failed", "reason"),  # the process died after writing its record
        ({"status": "failed", "error": None}, 1, "failed", "reason"),  # the process died while drawing its reports
        ({"status": "failed", "error": "in the record"}, 1, "failed", "in the record"),
        ({"status": "interrupted", "error": "by SIGINT"}, 130, "interrupted", "by SIGINT"),
    ],
)
def test_the_outcome_depends_on_the_record_and_the_exit_code(
    tmp_path: Path, record: dict[str, object], code: int, status: str, error: str | None
) -> None:
    if record:
        write_record(tmp_path, **record)
    require_ending(tmp_path, code, "reason", ["seed=1"])
    assert (current_result(tmp_path).status, current_result(tmp_path).error) == (status, error)
