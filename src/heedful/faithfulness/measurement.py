"""Measure the runs in folders and their subfolders; later calls reuse the record in each run's folder.

On a CPU, the texts of a run are measured with one thread for each core.
"""

import argparse
import sys
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from heedful.base.errors import UserError
from heedful.base.formatting import format_duration
from heedful.base.progress import row_progress
from heedful.faithfulness.limits import search_limits
from heedful.faithfulness.measures import Predicted, erase_shares, rank, retain
from heedful.faithfulness.rankings import rank_tokens
from heedful.faithfulness.summary import VariantSummary, summarize
from heedful.faithfulness.trained import ProbedRun, checkpoint_digest, measured_data
from heedful.kernels.malloc import limit_compiled_kernels
from heedful.models.probe import Probe, Scores, TokenIds, pad
from heedful.records.runs import ExcludedRun
from heedful.records.variants import Variant, find_variants
from heedful.runs.faithfulness_record import ATTENTION, FaithfulnessRecord, Options
from heedful.tasks.stored import trusting

MEASURES = ["removal", "limits"]  # an earlier version measured more
# number of tokens that are measured together; 2,000 tokens at a time cost 6 to 10 % more CPU time than 8,000 at a time
CHUNK_TOKENS = 4_000
Result = TypeVar("Result")
Generators = Sequence[np.random.Generator]  # one for each text, so that its numbers do not depend on other texts


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
    with trusting(args.trusted_modules):
        variants, excluded = measurable_variants(args.folders)
    runs = [run for variant in variants for run in variant.runs]
    records, wanted = {run.folder: FaithfulnessRecord.load(run.folder) for run in runs}, {}
    for finished in runs:
        data = measured_data(finished, args.data_path, args.trusted_modules)
        sample = {"data": data, "texts": args.texts, "seed": args.seed, "measures": MEASURES}
        wanted[finished.folder] = Options(checkpoint=checkpoint_digest(finished.folder), **sample)
    measured = {run: record for run, record in records.items() if record is not None and record.has(wanted[run])}
    for number, run in enumerate(wanted, 1):
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
    arrays |= {"rows": rows, "lengths": lengths, "correct": is_correct, "weights": weights}
    described = {"rankings": list(results[0][1]), "skipped": sample.skipped, "data": trained.data.data_fingerprint}
    return FaithfulnessRecord(options.model_copy(update=described), arrays)


class RankedTexts(NamedTuple):
    """n texts with their predictions, and by ranking the scores and the order of their tokens."""

    predicted: Predicted
    scores: dict[str, Scores]
    orders: dict[str, list[np.ndarray]]  # the most important token first
    probabilities: np.ndarray  # n×C
    integral_errors: np.ndarray  # n


def rank_texts(probe: Probe, texts: TokenIds, rngs: Generators) -> RankedTexts:
    """Predict the class of n texts, and rank the tokens of each text by every ranking."""
    probabilities = probe.probabilities(texts)
    predicted = Predicted(texts, probabilities.argmax(1), probabilities.max(1))
    scores, errors = rank_tokens(probe, predicted, rngs)
    orders = {
        name: [rank(of_text, rng) for of_text, rng in zip(values, rngs, strict=True)] for name, values in scores.items()
    }
    return RankedTexts(predicted, scores, orders, probabilities, errors)


def measure_texts(probe: Probe, texts: TokenIds, rngs: Generators) -> tuple[dict[str, np.ndarray], dict[str, Scores]]:
    """Return the arrays of a record for n texts, and the scores of the tokens by ranking."""
    predicted, scores, orders, probabilities, errors = rank_texts(probe, texts, rngs)
    arrays = {"probabilities": probabilities, "integral_error": errors}
    for name, erase in (("comprehensiveness", np.delete), ("sufficiency", retain)):
        drops = erase_shares(probe, predicted, orders, erase)  # R×n×5
        arrays[f"{name}_removal"] = np.moveaxis(drops, 0, 1)
        bounds = search_limits(probe, predicted, scores, drops.mean(2), rngs, retain=erase is retain)
        arrays[f"{name}_low"], arrays[f"{name}_high"] = bounds
    return arrays, scores


def map_chunks(
    device: torch.device, texts: TokenIds, function: Callable[[np.ndarray], Result]
) -> Generator[tuple[np.ndarray, Result], None, None]:
    """Yield the positions of successive chunks of texts, and the result of a function of each chunk.

    A small recurrent layer gains little from several cores. On a CPU, the chunks are therefore distributed over as many
    threads as torch uses, and each thread uses one core.
    """
    chunk = (np.cumsum([len(text) for text in texts]) - 1) // CHUNK_TOKENS
    chunks = np.split(np.arange(len(texts)), np.flatnonzero(np.diff(chunk)) + 1)
    cores = torch.get_num_threads()
    if device.type != "cpu" or min(cores, len(chunks)) < 2:
        yield from ((rows, function(rows)) for rows in chunks)
        return
    pool = ThreadPoolExecutor(min(cores, len(chunks)), initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from zip(chunks, pool.map(function, chunks), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)  # MKL has one number of threads for the whole process
