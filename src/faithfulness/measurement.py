"""Measure the runs in folders and their subfolders; later calls reuse the record in each run's folder."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from src.errors import UserError
from src.faithfulness.measurable import require_measurable
from src.faithfulness.run import measure_run, options_of
from src.faithfulness.sections import Report
from src.faithfulness.summary import summarize
from src.faithfulness.trained import restore_probe
from src.formatting import format_duration
from src.kernels.malloc import limit_compiled_kernels
from src.records.faithfulness import Record
from src.records.runs import find_runs
from src.records.variants import group_runs
from src.terms.measurements import require_same_data


def measure(
    folders: Sequence[Path],
    texts: int,
    seed: int,
    measures: Sequence[str],
    training: Sequence[int],
    trusted_modules: Sequence[str] = (),
    data_path: str | None = None,
    command: str = "",
) -> Report:
    """Measure all runs below the folders, and summarize them by variant.

    Args:
        texts: size of the stratified sample of test texts.
        measures: names in MEASURES or TRAINING of `src.records.faithfulness_names`.
        training: number of training texts and number of epochs, for the measures that train models.
        trusted_modules: the user's packages whose classes checkpoints may name.
        data_path: path that replaces `data.path` of the checkpoints; None retains it.
        command: the command line that the report shows.

    Raises:
        UserError: if there is no run, if runs differ in their data or are folds of a cross-validation, if a checkpoint
            is missing, if a checkpoint or a record is damaged, if data cannot be read, if no text can be measured, if,
            apart from measures that train models, only `plausibility` is missing and the data have no rationales, or if
            a component cannot be measured.
    """
    limit_compiled_kernels()
    runs, excluded = find_runs(folders)
    require_same_data(runs)
    variants = group_runs(runs)
    if any(run.folds > 1 for run in runs):
        raise UserError("the folds of a cross-validation have different test texts: name runs without data.folds")
    selected = [run for variant in variants for run in variant.runs]
    options = {run.folder: options_of(run.folder, texts, seed, measures, training) for run in selected}
    records = {run.folder: Record.load(run.folder) for run in selected}
    pending = {folder for folder, record in records.items() if record is None or record.missing(options[folder])}
    for variant in variants:
        # one run suffices, because the runs of all seeds have the same components
        for run in [run for run in variant.runs if run.folder in pending][:1]:
            require_measurable(restore_probe(run.folder, trusted_modules)[1], str(run.folder))
    for number, run in enumerate(selected, 1):
        if run.folder not in pending:
            continue
        title, start = f"Run {number} of {len(selected)}", time.monotonic()
        previous = records[run.folder]
        for record in measure_run(run.folder, options[run.folder], previous, trusted_modules, data_path, title):
            records[run.folder] = record
            record.save(run.folder)
        print(f"{title}: measured in {format_duration(time.monotonic() - start)}", file=sys.stderr)
    by_variant = {
        variant.name: [measured for run in variant.runs if (measured := records[run.folder]) is not None]
        for variant in variants
    }
    summaries = summarize(variants, by_variant)
    return Report(summaries, len(summaries[0].records[0].arrays["rows"]), excluded, command)
