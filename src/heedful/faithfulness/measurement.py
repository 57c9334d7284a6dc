"""Measure the runs in folders and their subfolders; later calls reuse the record in each run's folder."""

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heedful.base.errors import UserError
from heedful.base.formatting import format_duration
from heedful.faithfulness.probe import Scores, pad
from heedful.faithfulness.summary import VariantSummary, summarize
from heedful.faithfulness.texts import map_chunks, measure_texts
from heedful.faithfulness.trained import ProbedRun, checkpoint_digest
from heedful.kernels.malloc import limit_compiled_kernels
from heedful.records.runs import ExcludedRun
from heedful.records.variants import Variant, find_variants
from heedful.report.terminal import row_progress
from heedful.runs.faithfulness_record import ATTENTION, FaithfulnessRecord, Options

MEASURES = ["removal", "limits"]  # an earlier version measured more


@dataclass(frozen=True)
class Report:
    """The content of the tables and the page."""

    summaries: Sequence[VariantSummary]
    texts: int  # number of texts that were measured in every run
    excluded: Sequence[ExcludedRun]
    command: str


def measure_folders(args: argparse.Namespace, command: str) -> Report:
    """Measure all runs below the folders, and summarize them by variant."""
    limit_compiled_kernels()
    variants, excluded = measurable_variants(args.folders)
    runs = [run.folder for variant in variants for run in variant.runs]
    records, wanted = {run: FaithfulnessRecord.load(run) for run in runs}, {}
    for run in runs:
        wanted[run] = Options(checkpoint=checkpoint_digest(run), texts=args.texts, seed=args.seed, measures=MEASURES)
    measured = {run: record for run, record in records.items() if record is not None and record.has(wanted[run])}
    for number, run in enumerate(runs, 1):
        if run in measured:
            continue
        title, start = f"Run {number} of {len(runs)}", time.monotonic()
        trained = ProbedRun(run, args.trusted_modules, args.data_path, args.device)
        measured[run] = measure_run(trained, wanted[run], title)
        measured[run].save(run)
        print(f"{title}: measured in {format_duration(time.monotonic() - start)}", file=sys.stderr)
    by_variant = {variant.name: [measured[run.folder] for run in variant.runs] for variant in variants}
    summaries = summarize(variants, by_variant)
    return Report(summaries, len(summaries[0].records[0].arrays["rows"]), excluded, command)


def measurable_variants(folders: Sequence[Path]) -> tuple[list[Variant], tuple[ExcludedRun, ...]]:
    """Return the variants below the folders, which have the same test texts, and the runs that cannot be used."""
    variants, excluded = find_variants(folders)
    if any(run.folds > 1 for variant in variants for run in variant.runs):
        raise UserError("the folds of a cross-validation have different test texts: name runs without data.folds")
    return variants, excluded


def measure_run(trained: ProbedRun, options: Options, title: str) -> FaithfulnessRecord:
    """Measure a sample of a run's test texts; the progress line starts with `title`."""
    sample = trained.sample("test", options.texts, options.seed)
    rows, texts = sample.rows, sample.texts

    def measure_chunk(chunk: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Scores]]:
        rngs = [np.random.default_rng([options.seed, row]) for row in rows[chunk].tolist()]
        return measure_texts(trained.probe, [texts[i] for i in chunk], rngs)

    results = []
    measured = map_chunks(trained.probe.device, texts, measure_chunk)
    with closing(measured), row_progress(f"{title}: measured", len(texts), "texts") as advance:
        for chunk, result in measured:
            results.append(result)
            advance(len(chunk))
    arrays = {name: np.concatenate([chunk[name] for chunk, _ in results]) for name in results[0][0]}
    attention = [text for _, scores in results for text in scores[ATTENTION]]
    lengths = np.array([len(text) for text in texts])
    is_correct = trained.codec.task.is_correct(arrays["probabilities"], sample.labels)
    weights = pad(attention, np.arange(len(texts)), lengths.max())
    arrays |= {
        "rows": rows,
        "lengths": lengths,
        "correct": is_correct,
        "weights": weights,
    }
    described = {"rankings": list(results[0][1]), "skipped": sample.skipped}
    return FaithfulnessRecord(options.model_copy(update=described), arrays)
