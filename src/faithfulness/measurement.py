"""Measure the runs below folders; the record of each run is written to its folder and reused."""

import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from src.comparison.measurements import require_same_data
from src.comparison.runs import find_runs
from src.comparison.variants import group_runs
from src.errors import UserError
from src.faithfulness.records import Record
from src.faithfulness.run import measure_run, options_of
from src.faithfulness.summary import summarize
from src.faithfulness.tables import Report
from src.formatting import format_duration

LINE_INTERVAL = 30  # seconds between lines of progress without a terminal

log = logging.getLogger(__name__)


def measure(
    folders: Sequence[Path],
    texts: int,
    seed: int,
    measures: Sequence[str],
    trusted_modules: Sequence[str] = (),
    data_path: str | None = None,
    command: str = "",
) -> Report:
    """Measure every run below the folders and summarize them by variant.

    Args:
        folders: folders of runs or sweeps.
        texts: the size of the stratified sample of test texts.
        seed: seed of the sample and of random numbers.
        measures: names in `src.faithfulness.names.MEASURES`.
        trusted_modules: the user's packages whose classes checkpoints may name.
        data_path: path that replaces `data.path` of the checkpoints.
        command: command line for the report.

    Raises:
        UserError: if there is no run, if runs differ in their data, or if a checkpoint or a record is damaged.
    """
    runs, excluded = find_runs(folders)
    require_same_data(runs)
    variants = group_runs(runs)
    if any(run.folds > 1 for run in runs):
        raise UserError("the folds of a cross-validation have different test texts: name runs without data.folds")
    selected = [run for variant in variants for run in variant.runs]
    options = {run.folder: options_of(run.folder, texts, seed, measures) for run in selected}
    records: dict[Path, Record] = {}
    for number, run in enumerate(selected, 1):
        record = Record.load(run.folder)
        if record is None or not record.matches(options[run.folder]):
            with _Reporter(f"Run {number} of {len(selected)}") as reporter:
                record = measure_run(run.folder, options[run.folder], trusted_modules, data_path, reporter.update)
            record.save(run.folder)
        records[run.folder] = record
    by_variant = {variant.name: [records[run.folder] for run in variant.runs] for variant in variants}
    summaries = summarize(variants, by_variant)
    return Report(summaries, len(summaries[0].records[0].arrays["rows"]), excluded, command)


class _Reporter:
    """Shows progress on standard error: a bar on a terminal, otherwise a line every 30 seconds."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = self._last = time.monotonic()
        self._bar = Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> "_Reporter":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def update(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)
        now = time.monotonic()
        if not sys.stderr.isatty() and (now - self._last > LINE_INTERVAL or done == total):
            self._last = now
            left = format_duration((now - self._start) * (total - done) / done)
            rest = f", {left} left" if done < total else f" in {format_duration(now - self._start)}"
            print(f"{self._title}: {done:,} of {total:,} texts{rest}", file=sys.stderr)
