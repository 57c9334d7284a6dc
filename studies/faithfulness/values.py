"""The values of measures for each text, without the texts: release them in a file, and show their means.

`python -m studies.faithfulness.values FILE <runs>` releases the records of `python -m src.faithfulness` below the
folders; without folders, it shows the tables of a released file. Each row of the file is a measure of a run:

| column | content |
|---|---|
| `variant`, `seed` | the run |
| `ranking`, `measure` | the names of the ranking (`attention` for measures without rankings) and of the measure |
| `texts`, `values` | n row numbers in the test split, ascending; n values, NaN where the measure is undefined |
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from src.console import OutputConsole
from src.errors import UserError
from src.faithfulness.measurement import measurable_variants
from src.faithfulness.probe import Probe
from src.faithfulness.sections import format_estimate
from src.faithfulness.summary import estimate_rankings
from src.faithfulness.texts import map_chunks
from src.faithfulness.trained import Sample, TrainedRun
from src.files import replace_atomically
from src.process import exit_with_message
from src.records.faithfulness import AGREEMENT, ATTENTION, COLUMNS, RANKINGS, Record
from src.report.section import Section, Table
from src.report.terminal import render_terminal

SCHEMA = pa.schema(
    [
        ("variant", pa.string()),
        ("seed", pa.int64()),
        ("ranking", pa.string()),
        ("measure", pa.string()),
        ("texts", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)
Arrays = Mapping[tuple[str, str], np.ndarray]  # by ranking and measure, n values each


class Values(NamedTuple):
    """A row of the file."""

    variant: str
    seed: int
    ranking: str
    measure: str
    texts: np.ndarray
    values: np.ndarray


def write_values(rows: Sequence[Values], file: Path) -> None:
    columns = {name: [getattr(row, name) for row in rows] for name in SCHEMA.names}
    with replace_atomically(file) as part:
        pq.write_table(pa.table(columns, SCHEMA), part, compression="zstd", compression_level=19)


def read_values(file: Path) -> list[Values]:
    try:
        rows = pq.read_table(file, schema=SCHEMA).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{file} has no released values ({str(error).splitlines()[0]})") from None
    return [Values(**{**row, "texts": np.array(row["texts"]), "values": np.array(row["values"])}) for row in rows]


def values_of_records(folders: Sequence[Path]) -> list[Values]:
    """Return the values of the records of all runs below the folders.

    Raises:
        UserError: if a run has no record.
    """
    rows = []
    for variant in measurable_variants(folders)[0]:
        for run in variant.runs:
            if (record := Record.load(run.folder)) is None:
                raise UserError(f"{run.folder} has no record: first run `python -m src.faithfulness`")
            arrays = {(name, c.name): record.values(c.name, name) for c in COLUMNS for name in record.options.rankings}
            arrays |= {(ATTENTION, name): record.arrays.get(name) for name in AGREEMENT}
            rows += [
                Values(variant.name, run.seed, *names, record.arrays["rows"], array)
                for names, array in arrays.items()
                if array is not None
            ]
    return rows


def tables(rows: Sequence[Values], headings: Mapping[str, str] | None = None) -> list[Section]:
    """Return a table for each variant, or one table for all variants if no measure has several rankings.

    Args:
        headings: headings by measure; a measure without heading has its name.
    """
    common = reduce(np.intersect1d, (row.texts for row in rows))
    samples: dict[str, dict[str, dict[str, list[np.ndarray]]]] = {}  # variant → measure → ranking → arrays of the seeds
    for row in rows:
        of_rankings = samples.setdefault(row.variant, {}).setdefault(row.measure, {})
        of_rankings.setdefault(row.ranking, []).append(row.values[np.searchsorted(row.texts, common)])
    measures = list(dict.fromkeys(row.measure for row in rows))
    head = [(headings or {}).get(name, name) for name in measures]
    cells: dict[str, dict[str, list[str]]] = {}  # variant → ranking → cells
    for variant, by_measure in samples.items():
        estimates = {
            name: estimate_rankings({ranking: np.stack(arrays) for ranking, arrays in by_measure.get(name, {}).items()})
            for name in measures
        }
        names = [name for name in RANKINGS if any(name in of_ranking for of_ranking in by_measure.values())]
        cells[variant] = {
            ranking: [format_estimate(estimates[name].get(ranking)) for name in measures] for ranking in names
        }
    if all(list(by_ranking) == [ATTENTION] for by_ranking in cells.values()):
        lines = [[variant, *by_ranking[ATTENTION]] for variant, by_ranking in cells.items()]
        return [Section(f"{len(common):,} texts", [Table(["variant", *head], lines)])]
    return [
        Section(variant, [Table(["ranking", *head], [[name, *line] for name, line in by_ranking.items()])])
        for variant, by_ranking in cells.items()
    ]


def study(
    description: str | None,
    compute: Callable[[TrainedRun, Sample, argparse.Namespace], Arrays],
    headings: Mapping[str, str],
    argv: Sequence[str] | None = None,
) -> None:
    """Compute a measure of all runs below the folders of a command line, print its table, and release the values.

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
    parser.add_argument("--values", type=Path, metavar="FILE", help="Parquet file for the values of each text")
    args = parser.parse_args(argv)
    with exit_with_message("standard output"):
        rows = []
        for variant in measurable_variants(args.folders)[0]:
            for run in variant.runs:
                trained = TrainedRun(run.folder, data_path=args.data_path)
                sample = trained.sample("test", args.texts, args.seed)
                arrays = compute(trained, sample, args)
                rows += [Values(variant.name, run.seed, *names, sample.rows, array) for names, array in arrays.items()]
        if args.values is not None:
            write_values(rows, args.values)
        OutputConsole().print(render_terminal(tables(rows, headings)))


def compute_chunks(trained: TrainedRun, sample: Sample, function: Callable[[Probe, np.ndarray], Arrays]) -> Arrays:
    """Join the values of all chunks of a sample; the function receives the positions of the texts of a chunk."""
    chunks = [arrays for _, arrays in map_chunks(trained.probe, sample.texts, function)]
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def by_ranking(rankings: Iterable[str], measure: str, values: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """Name the rows of values R×n by their rankings."""
    return {(ranking, measure): row for ranking, row in zip(rankings, values, strict=True)}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m studies.faithfulness.values", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    args = parser.parse_args(argv)
    with exit_with_message("standard output"):
        if args.folders:
            write_values(values_of_records(args.folders), args.file)
        headings = {column.name: column.heading for column in COLUMNS} | AGREEMENT
        OutputConsole().print(render_terminal(tables(read_values(args.file), headings)))


if __name__ == "__main__":
    main()
