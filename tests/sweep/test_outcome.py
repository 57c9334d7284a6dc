"""How a job stands, from its folder."""

import json
from pathlib import Path

import pytest

from src.sweep.outcome import claimed, read_outcome, settle


def record(folder: Path, **facts: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "result.json").write_text(json.dumps({"format": 1, **facts}))


def test_a_job_that_left_nothing_is_pending(tmp_path: Path) -> None:
    assert read_outcome(tmp_path / "none").status == "pending"
    assert not (tmp_path / "none").exists()
    (tmp_path / "empty").mkdir()
    assert read_outcome(tmp_path / "empty").status == "pending"


def test_a_record_that_was_cut_short_is_none(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"status": "comp')
    assert read_outcome(tmp_path).status == "pending"


def test_a_claimed_folder_belongs_to_a_running_job(tmp_path: Path) -> None:
    with claimed(tmp_path) as free, claimed(tmp_path) as again:
        assert (free, again) == (True, False)
        assert read_outcome(tmp_path).status == "running"
    assert read_outcome(tmp_path).status == "pending"


def test_the_figures_of_a_done_job(tmp_path: Path) -> None:
    best = {"monitor": "val/loss", "value": 0.25}
    record(tmp_path, status="completed", metrics={"test/acc": {"value": 0.5}}, seconds={"total": 3.0}, best=best)
    assert read_outcome(tmp_path) == ("completed", None, 0.5, 3.0, 0.25)


@pytest.mark.parametrize(
    ("before", "code", "status", "error"),
    [
        ({}, -9, "failed", "why"),
        ({"status": "completed"}, 0, "completed", None),
        ({"status": "completed"}, 1, "failed", "why"),  # it died behind its record
        ({"status": "failed", "error": None}, 1, "failed", "why"),  # cut short in its reports
        ({"status": "failed", "error": "own"}, 1, "failed", "own"),
        ({"status": "interrupted", "error": "by SIGINT"}, 130, "interrupted", "by SIGINT"),
    ],
)
def test_a_job_that_could_not_say_how_it_ended(
    tmp_path: Path, before: dict[str, object], code: int, status: str, error: str | None
) -> None:
    if before:
        record(tmp_path, **before)
    settle(tmp_path, code, "why", ["seed=1"])
    assert read_outcome(tmp_path)[:2] == (status, error)
