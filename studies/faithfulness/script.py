"""What the scripts of this folder share: their command line and tables, and batches for the training of models."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path

import numpy as np
from torch import Tensor

from src.data.padded_batches import shuffled
from src.faithfulness.measurement import measurable_variants
from src.faithfulness.probe import Probe, Texts
from src.faithfulness.sections import format_estimate
from src.faithfulness.summary import estimate_rankings
from src.faithfulness.texts import map_chunks
from src.faithfulness.trained import Sample, TrainedRun
from src.process import exit_with_message
from src.records.faithfulness import ATTENTION, RANKINGS
from src.report.section import Section, Table
from src.report.terminal import OutputConsole, render_terminal

BATCH_SIZE = 32
Arrays = Mapping[tuple[str, str], np.ndarray]  # by ranking and measure, n values each


def study(
    description: str | None,
    compute: Callable[[TrainedRun, Sample, argparse.Namespace], Arrays],
    headings: Mapping[str, str],
    argv: Sequence[str] | None = None,
) -> None:
    """Compute measures of all runs below the folders of a command line, and print their tables.

    Args:
        description: docstring of the script.
        compute: returns the values for a sample of test texts.
        headings: heading of each measure.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a run, a sweep, or a folder with them")
    parser.add_argument("--texts", type=int, default=500, help="number of test texts (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default: 0)")
    parser.add_argument("--train-texts", type=int, default=1000, help="number of training texts, if a measure trains")
    parser.add_argument("--epochs", type=int, default=5, help="number of passes over the training texts (default: 5)")
    parser.add_argument("--data-path", help="path of the data, which replaces data.path of the checkpoints")
    args = parser.parse_args(argv)
    with exit_with_message("standard output"):
        results: dict[str, list[tuple[np.ndarray, Arrays]]] = {}  # variant → rows and values of each seed
        for variant in measurable_variants(args.folders)[0]:
            for run in variant.runs:
                trained = TrainedRun(run.folder, data_path=args.data_path)
                sample = trained.sample("test", args.texts, args.seed)
                results.setdefault(variant.name, []).append((sample.rows, compute(trained, sample, args)))
        OutputConsole().print(render_terminal(tables(results, headings)))


def tables(results: Mapping[str, Sequence[tuple[np.ndarray, Arrays]]], headings: Mapping[str, str]) -> list[Section]:
    """Return a table for each variant, or one table for all variants if attention is the only ranking.

    Args:
        results: by variant, the row numbers of the texts and the values of each seed.
    """
    common = reduce(np.intersect1d, (rows for of_variant in results.values() for rows, _ in of_variant))
    lines: dict[str, list[list[str]]] = {}  # by variant, a line for each ranking
    for variant, of_variant in results.items():
        rankings = [name for name in RANKINGS if any(ranking == name for ranking, _ in of_variant[0][1])]
        columns = []
        for measure in headings:
            stacked = {
                ranking: np.stack(
                    [arrays[ranking, measure][np.searchsorted(rows, common)] for rows, arrays in of_variant]
                )
                for ranking in rankings
            }
            estimates = estimate_rankings(stacked)
            columns.append([format_estimate(estimates.get(ranking)) for ranking in rankings])
        lines[variant] = [list(line) for line in zip(rankings, *columns, strict=True)]
    if all(line[0] == ATTENTION for of_variant in lines.values() for line in of_variant):
        table = Table(["variant", *headings.values()], [[name, *of[0][1:]] for name, of in lines.items()])
        return [Section(f"{len(common):,} texts", [table])]
    return [Section(name, [Table(["ranking", *headings.values()], of_variant)]) for name, of_variant in lines.items()]


def compute_chunks(trained: TrainedRun, sample: Sample, function: Callable[[Probe, np.ndarray], Arrays]) -> Arrays:
    """Join the values of all chunks of a sample; the function receives the positions of the texts of a chunk."""
    chunks = [arrays for _, arrays in map_chunks(trained.probe, sample.texts, function)]
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def by_ranking(rankings: Iterable[str], measure: str, values: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """Name the rows of values R×n by their rankings."""
    return {(ranking, measure): row for ranking, row in zip(rankings, values, strict=True)}


def training_batches(probe: Probe, texts: Texts, epochs: int, seed: int) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
    """Yield the rows, tokens N×L and mask N×L of random batches, each of at most 32 texts of similar length."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    for epoch in range(epochs):
        for rows in shuffled(lengths, BATCH_SIZE, seed, True, 0, 1, epoch):
            yield rows, *probe.batch([texts[row] for row in rows])
