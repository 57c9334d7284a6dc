"""Measure the runs in folders and their subfolders; later calls reuse the record in each run's folder."""

import hashlib
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from src.console import row_progress
from src.errors import UserError
from src.faithfulness.probe import Probe, Scores, pad
from src.faithfulness.summary import VariantSummary, summarize
from src.faithfulness.texts import map_chunks, measure_texts
from src.faithfulness.trained import TrainedRun, checkpoint_path
from src.formatting import format_duration
from src.kernels.malloc import limit_compiled_kernels
from src.records.faithfulness import ATTENTION, Example, Options, Record
from src.records.runs import ExcludedRun, find_runs
from src.records.variants import Variant, group_runs
from src.terms.intervals import MIN_SEEDS
from src.terms.measurements import require_same_data

EXAMPLES = 3  # number of texts whose scores the record contains
EXAMPLE_TOKENS = 40  # the examples are the texts with lengths closest to this number of tokens


@dataclass(frozen=True)
class Report:
    """The content of the tables and the page."""

    summaries: Sequence[VariantSummary]
    texts: int  # number of texts that were measured in every run
    excluded: Sequence[ExcludedRun]
    command: str

    @property
    def is_exploratory(self) -> bool:
        return any(summary.seeds < MIN_SEEDS for summary in self.summaries)


def measure(
    folders: Sequence[Path],
    texts: int,
    seed: int,
    measures: Sequence[str],
    trusted_modules: Sequence[str] = (),
    data_path: str | None = None,
    command: str = "",
) -> Report:
    """Measure all runs below the folders, and summarize them by variant.

    Args:
        texts: size of the stratified sample of test texts.
        measures: names in MEASURES of `src.faithfulness.__main__`.
        trusted_modules: the user's packages whose classes checkpoints may name.
        data_path: path that replaces `data.path` of the checkpoints; None retains it.
        command: the command line that the report shows.

    Raises:
        UserError: if there is no run, if runs differ in their data or are folds of a cross-validation, if a checkpoint
            or a record is missing or damaged, if data cannot be read, or if no text can be measured.
    """
    limit_compiled_kernels()
    variants, excluded = measurable_variants(folders)
    selected = [run for variant in variants for run in variant.runs]
    records = {run.folder: Record.load(run.folder) for run in selected}
    wanted = {}
    for run in selected:
        digest = hashlib.sha256(checkpoint_path(run.folder).read_bytes()).hexdigest()
        wanted[run.folder] = Options(checkpoint=digest, texts=texts, seed=seed, measures=list(measures))
    for number, run in enumerate(selected, 1):
        previous, options = records[run.folder], wanted[run.folder]
        if previous is not None and previous.has(options):
            continue
        if previous is not None:  # the new record replaces the previous one, so it contains the same measures
            options = options.model_copy(update={"measures": sorted({*measures, *previous.options.measures})})
        title, start = f"Run {number} of {len(selected)}", time.monotonic()
        measured = measure_run(TrainedRun(run.folder, trusted_modules, data_path), options, title)
        measured.save(run.folder)
        records[run.folder] = measured
        print(f"{title}: measured in {format_duration(time.monotonic() - start)}", file=sys.stderr)
    by_variant = {
        variant.name: [record for run in variant.runs if (record := records[run.folder]) is not None]
        for variant in variants
    }
    summaries = summarize(variants, by_variant)
    return Report(summaries, len(summaries[0].records[0].arrays["rows"]), excluded, command)


def measurable_variants(folders: Sequence[Path]) -> tuple[list[Variant], tuple[ExcludedRun, ...]]:
    """Return the variants below the folders, which have the same test texts, and the runs that cannot be used.

    Raises:
        UserError: if there is no run, or if runs differ in their data or are folds of a cross-validation.
    """
    runs, excluded = find_runs(folders)
    require_same_data(runs)
    if any(run.folds > 1 for run in runs):
        raise UserError("the folds of a cross-validation have different test texts: name runs without data.folds")
    return group_runs(runs), excluded


def measure_run(trained: TrainedRun, options: Options, title: str) -> Record:
    """Measure a sample of a run's test texts, and return the record.

    Args:
        title: first words of the progress line.

    Raises:
        UserError: if the model knows no token of the texts, or if the only measure is `plausibility` and the data have
            no rationales.
    """
    sample = trained.sample("test", options.texts, options.seed)
    rows, texts = sample.rows, sample.texts
    marks = trained.marks(rows) if "plausibility" in options.measures else None
    if marks is None and options.measures == ["plausibility"]:
        raise UserError(
            f"{trained.run}: plausibility needs texts with human rationales, such as those of data=eraser_movies"
        )
    share = float(np.concatenate(marks).mean()) if marks else 0.0

    def measure_chunk(probe: Probe, chunk: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Scores]]:
        rngs = [np.random.default_rng([options.seed, row]) for row in rows[chunk].tolist()]
        rationales = None if marks is None else ([marks[i] for i in chunk], share)
        return measure_texts(probe, [texts[i] for i in chunk], rngs, options.measures, rationales)

    results = []
    measured = map_chunks(trained.probe, texts, measure_chunk)
    with closing(measured), row_progress(f"{title}: measured", len(texts), "texts") as advance:
        for chunk, result in measured:
            results.append(result)
            advance(len(chunk))
    arrays = {name: np.concatenate([chunk[name] for chunk, _ in results]) for name in results[0][0]}
    scores = {name: [text for _, by_ranking in results for text in by_ranking[name]] for name in results[0][1]}
    lengths, predicted = np.array([len(text) for text in texts]), arrays["probabilities"].argmax(1)
    weights = pad(scores[ATTENTION], np.arange(len(texts)), lengths.max())
    arrays |= {"rows": rows, "lengths": lengths, "correct": predicted == sample.labels, "weights": weights}
    shown = np.sort(np.argsort(np.abs(lengths - EXAMPLE_TOKENS), kind="stable")[:EXAMPLES])
    of_examples = [np.concatenate([values[i] for i in shown]) for values in scores.values()]
    arrays["scores"] = np.stack(of_examples).astype(np.float32)
    names = trained.codec.class_names
    described: dict[str, Any] = {
        "rankings": list(scores),
        "skipped": sample.skipped,
        "examples": [
            Example(words=words, label=names[sample.labels[i]], predicted=names[predicted[i]])
            for i, words in zip(shown, trained.words(rows[shown]), strict=True)
        ],
    }
    return Record(options.model_copy(update=described), arrays)
