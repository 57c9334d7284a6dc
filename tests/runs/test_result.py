"""The record of a run: a damaged record is reported, and the records of other runs are still read."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from heedful.base.errors import UserError
from heedful.records.runs import find_runs
from heedful.runs.result import FORMAT, RunResult
from heedful.sweep.job import recorded_result
from tests.run_folders import write_run

BEST = {"checkpoint": "checkpoints/best.ckpt", "monitor": "val/loss", "value": 0.25, "epoch": 1, "mode": "min"}
METRICS = {
    "test/acc": {"value": 0.8, "low": 0.7, "high": 0.9, "n": 7},
    "val/acc": {"value": 0.7, "low": None, "high": None, "n": 5},
}
RECORD: dict[str, Any] = {
    "format": 1,
    "task": "train",
    "status": "completed",
    "error": None,
    "command": "python -m src.train",
    "overrides": ["seed=2"],
    "seed": 2,
    "choices": {"data": "imdb", "encoder": "lstm", "attention": "none"},
    "started": "2026-01-01T00:00:02+00:00",
    "finished": "2026-01-01T00:01:02+00:00",
    "data": {
        "fingerprint": "f",
        "class_names": ["class 0", "class 1"],
        **{"vocabulary": 11, "train": 13, "val": 5, "test": 7, "max_length": 500, "batch_size": 17},
        **{"majority_class": "class 0", "vectors": 3, "folds": 5, "fold": 2, "dropped": 7, "conflicts": 1},
        "columns": {"age": "number"},
        "files": {"train": ["a.csv"]},
        "splits": {
            "train": {
                "texts": 13,
                "class_counts": {"class 0": 9, "class 1": 4},
                "lengths": {"min": 1, "max": 40},
                **{"majority_accuracy": 0.7, "tokens": 170, "cut_texts": 1, "cut_share": 0.1},
                **{"unknown_share": 0.2, "vector_share": 0.6, "duplicates": 1, "in_train": 2, "checked": 11},
                **{"missing": {"age": 1}, "unseen": {"age": 0}},
            },
        },
    },
    "parameters": {"total": 1009, "trainable": 1009, "by_part": {"encoder": 1009}},
    "device": "cpu",
    "precision": "32-true",
    "versions": {"python": "3.11"},
    "git_commit": None,
    "best": BEST,
    "branch_weight": 0.55,
    "thresholds": {"class 0": 0.25},
    "lowest_error": {"error": 0.04, "answered": 0.2},
    "metrics": METRICS,
    "lower_is_better": ["ece"],
    "classes": {
        "test": {
            "class 0": {"precision": 0.5, "recall": 1.0, "f1": None, "support": 3, "f1_low": None, "f1_high": None}
        }
    },
    "baseline": {"metrics": METRICS, "differences": METRICS},
    "seconds": {"total": 9.0, "fit": 7.0, "per_epoch": [3.0, 2.0], "test": 0.5, "cpu": 8.0},
    "ms_per_text": 0.25,
    "texts_per_second": 17.0,
    "peak_memory_mb": {"process": 700.0, "cuda": None},
}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of two runs, the second of which has a record that the tests replace."""
    folder = tmp_path_factory.mktemp("sweep")
    for number in (1, 2):
        write_run(folder / str(number), seed=number)
    (folder / "2" / "result.json").write_text(json.dumps(RECORD))
    return folder


def write_record(sweep: Path, record: Any) -> Path:
    (sweep / "2" / "result.json").write_text(json.dumps(record))
    return sweep / "2"


def test_a_record_does_not_change_when_it_is_read_and_written(sweep: Path, tmp_path: Path) -> None:
    assert set(RECORD) == {field.name for field in fields(RunResult)}
    run = write_record(sweep, RECORD)
    RunResult.load(run).save(tmp_path)
    assert recorded_result(run) == RunResult.load(run)
    content = json.loads((tmp_path / "result.json").read_text())
    assert content == RECORD
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_a_record_of_a_run_that_failed_early_is_read_and_written(tmp_path: Path) -> None:
    RunResult(status="failed", error="x").save(tmp_path)
    assert RunResult.load(tmp_path) == RunResult(status="failed", error="x")


def test_a_record_without_a_format_is_read_and_a_newer_format_is_refused(sweep: Path) -> None:
    old = {key: value for key, value in RECORD.items() if key != "format"}
    assert RunResult.load(write_record(sweep, old)) == RunResult.load(write_record(sweep, RECORD))
    with pytest.raises(UserError, match=r"result\.json has format 2, and .* reads 1: update Heedful"):
        RunResult.load(write_record(sweep, {**RECORD, "format": FORMAT + 1}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "input should be an object"),
        ('{"status": null}', "status: input should be a valid string"),
        ('{"seconds": null}', "seconds: input should be an object"),
        ('{"seconds": {"total": "3"}}', r"seconds\.total: input should be a valid number"),
        ('{"metrics": {"test/acc": {"value": NaN}}}', r"metrics\.test/acc\.value: input should be a finite number"),
        ('{"seed": 1' + "0" * 5000 + "}", "number out of range"),
        ("[" * 100_000, ""),
    ],
)
def test_a_damaged_record_is_reported_its_job_is_pending_and_other_runs_are_compared(
    text: str, message: str, sweep: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = sweep / "2"
    (run / "result.json").write_text(text)
    with pytest.raises(UserError, match=rf"result\.json cannot be read .*{message}"):
        RunResult.load(run)
    assert recorded_result(run) == RunResult()
    assert "result.json cannot be read" in caplog.text
    discovered = find_runs([sweep])
    assert [found.folder for found in discovered.runs] == [sweep / "1"]
    assert [found.folder for found in discovered.excluded] == [run]


NEURAL = {"encoder": "identity", "attention": "bahdanau"}


@pytest.mark.parametrize(
    ("choices", "architecture"),
    [
        ({}, ""),
        (NEURAL, "identity · bahdanau"),
        (NEURAL | {"branch": "none"}, "identity · bahdanau"),
        (NEURAL | {"branch": "ngrams"}, "identity · bahdanau + ngrams branch"),
        (NEURAL | {"branch": "ngrams", "model": "linear"}, "linear"),
    ],
)
def test_the_architecture_includes_the_branch(choices: dict[str, str], architecture: str) -> None:
    assert RunResult(choices=choices).architecture == architecture
