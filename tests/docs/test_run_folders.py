"""docs/run-folders.md describes each file that a run writes, and each field of its record."""

import csv
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from heedful.runs.result import Best, ClassScore, Data, Parameters, PeakMemory, RunResult, Score, Seconds, SplitSummary
from heedful.runs.sweep_record import Job, Sweep
from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "run-folders.md").read_text(encoding="utf-8")
NAMES = set(re.findall(r"[\w.-]+", " ".join(re.findall(r"`([^`]*)`", PAGE))))  # the words in code spans
NESTED = (RunResult, Data, SplitSummary, Parameters, Best, Score, ClassScore, Seconds, PeakMemory)
NODES = {"data", "parameters", "best", "metrics", "classes", "seconds", "peak_memory_mb", "splits"}


def words() -> set[str]:
    """The names on the page, and the last segment of each dotted name."""
    return NAMES | {name.rpartition(".")[2] for name in NAMES}


def test_the_page_has_each_field_of_the_record_and_of_a_job() -> None:
    names = {field.name for record in NESTED for field in fields(record)} - NODES
    assert not (names | {*Job.model_fields, *Sweep.model_fields}) - words()


def test_the_page_has_each_file_of_a_run(finished: tuple[Path, dict[str, Any]]) -> None:
    run = finished[0]
    names = {path.name for path in run.rglob("*.*") if path.is_file()}
    assert not {name for name in names if not name.startswith(".")} - words()


def test_the_page_has_each_column_and_key_of_the_files(finished: tuple[Path, dict[str, Any]]) -> None:
    run = finished[0]
    with (run / "csv" / "metrics.csv").open(encoding="utf-8") as file:
        names = {name.rpartition("/")[2] for name in next(csv.reader(file))}
    names |= {*(run / "gradients.csv").read_text().splitlines()[0].split(",")}
    names |= {*json.loads((run / "attention.json").read_text())[0]}
    for arrays in ("predictions/test.npz", "attention_stats.npz"):
        names |= {*np.load(run / arrays)}
    assert not names - words()
