"""What the scripts of this folder share: their command line, records and tables, and batches for training models.

The record of a script in a run's folder, such as `faithfulness_erasure.npz`, contains the values of each measure, n×R,
for n texts and R rankings, the row numbers of the texts, and the settings that determine the values.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path

import numpy as np
from torch import Tensor

from src.data.padded_batches import shuffled
from src.faithfulness.measurement import measurable_variants
from src.faithfulness.probe import Probe, Texts
from src.faithfulness.sections import format_estimate
from src.faithfulness.summary import Estimate, estimate_rankings
from src.faithfulness.texts import map_chunks
from src.faithfulness.trained import Sample, TrainedRun, checkpoint_digest
from src.files import read_arrays, write_arrays
from src.process import exit_with_message
from src.records.faithfulness import ATTENTION, RANKINGS
from src.records.files import read_existing
from src.report.section import Section, Table
from src.report.terminal import OutputConsole, render_terminal

BATCH_SIZE = 32
SETTINGS = ("texts", "seed", "train_texts", "epochs")  # options that determine the values, besides the checkpoint
Arrays = Mapping[tuple[str, str], np.ndarray]  # by ranking and measure, n values each
Estimates = dict[tuple[str, str], Estimate]  # by ranking and measure
Compute = Callable[[TrainedRun, Sample, argparse.Namespace], Arrays]


def study(
    name: str,
    description: str | None,
    compute: Compute,
    headings: Mapping[str, str],
    argv: Sequence[str] | None = None,
) -> None:
    """Compute measures of all runs below the folders of a command line, and print their tables.

    A run whose record has the same settings is not measured again.

    Args:
        name: name of the script.
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
                results.setdefault(variant.name, []).append(measure(run.folder, name, compute, args))
        OutputConsole().print(render_terminal([section(name.capitalize(), estimate_variants(results), headings)]))


def measure(run: Path, script: str, compute: Compute, args: argparse.Namespace) -> tuple[np.ndarray, Arrays]:
    """Return the rows of the texts and the values of a run: those of its record, or new ones, which are recorded."""
    record = read_record(run, script)
    settings = {name: getattr(args, name) for name in SETTINGS}
    if record is None or (run / "checkpoints").exists():  # not in an unpacked release
        settings["checkpoint"] = checkpoint_digest(run)
    if record is None or not settings.items() <= json.loads(str(record["settings"])).items():
        trained = TrainedRun(run, data_path=args.data_path)
        sample = trained.sample("test", args.texts, args.seed)
        values = compute(trained, sample, args)
        rankings = list(dict.fromkeys(ranking for ranking, _ in values))
        arrays = {name: np.stack([values[ranking, name] for ranking in rankings], axis=1) for _, name in values}
        record = {"settings": np.array(json.dumps(settings)), "rankings": np.array(rankings), "rows": sample.rows}
        record |= arrays
        write_arrays(record_path(run, script), **record)
    return rows_and_values(record)


def record_path(run: Path, script: str) -> Path:
    return run / f"faithfulness_{script}.npz"


def read_record(run: Path, script: str) -> dict[str, np.ndarray] | None:
    """Return the arrays of the record of a script; None if there is no record."""
    return read_existing(record_path(run, script), read_arrays)


def rows_and_values(record: Mapping[str, np.ndarray]) -> tuple[np.ndarray, Arrays]:
    """Return the rows of the texts, and the values of each ranking and measure."""
    rankings = record["rankings"].tolist()
    names = [name for name in record if name not in ("settings", "rankings", "rows")]
    return record["rows"], {(ranking, name): record[name][:, i] for name in names for i, ranking in enumerate(rankings)}


def estimate_variants(
    results: Mapping[str, Sequence[tuple[np.ndarray, Arrays]]],
) -> dict[str, Estimates]:
    """Estimate the mean of each ranking and measure over seeds and the texts that all runs have, by variant.

    Args:
        results: by variant, the row numbers of the texts and the values of each seed.
    """
    common = reduce(np.intersect1d, (rows for of_variant in results.values() for rows, _ in of_variant))
    estimates: dict[str, Estimates] = {}
    for variant, of_variant in results.items():
        selected = [(np.searchsorted(rows, common), arrays) for rows, arrays in of_variant]
        estimates[variant] = {}
        for measure in dict.fromkeys(measure for _, measure in of_variant[0][1]):
            rankings = [ranking for ranking, name in of_variant[0][1] if name == measure]
            stacked = {
                name: np.stack([arrays[name, measure][index] for index, arrays in selected]) for name in rankings
            }
            found = estimate_rankings(stacked)
            estimates[variant] |= {(ranking, measure): estimate for ranking, estimate in found.items()}
    return estimates


def section(title: str, estimates: Mapping[str, Estimates], headings: Mapping[str, str]) -> Section:
    """Return a table of the measures in `headings` by variant, and by ranking if there are others than attention."""
    rankings = [name for name in RANKINGS if any((name, key) in of for of in estimates.values() for key in headings)]
    rows = [
        [variant, ranking, *(format_estimate(of.get((ranking, measure))) for measure in headings)]
        for variant, of in estimates.items()
        for ranking in rankings
    ]
    head = ["variant", "ranking", *headings.values()]
    if rankings == [ATTENTION]:
        head, *rows = ([first, *rest] for first, _, *rest in (head, *rows))
    return Section(title, [Table(head, rows)] if rows else [])


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
