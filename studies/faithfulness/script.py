"""What the scripts of this folder share: their command line, records and tables, and batches for training models.

The record of a script in a run's folder, such as `faithfulness_erasure.npz`, has the format of `faithfulness.npz`, and
contains the values of each measure, n×R, for n texts and R rankings.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from heedful.base.errors import UserError
from heedful.base.process import exit_with_message
from heedful.commands.faithfulness import TEXTS
from heedful.data.padded_batches import Inputs, shuffled
from heedful.faithfulness.measurement import map_chunks, measurable_variants
from heedful.faithfulness.sections import format_estimate
from heedful.faithfulness.summary import MEASURES, Estimate, VariantSummary, summarize
from heedful.faithfulness.trained import ProbedRun, SampledTexts, checkpoint_digest, measured_data
from heedful.models.probe import Probe, TokenIds
from heedful.records.variants import Variant
from heedful.report.section import Section, Table
from heedful.report.terminal import OutputConsole, render_terminal
from heedful.runs.faithfulness_record import ATTENTION, RANKINGS, RECORD_FILE, FaithfulnessRecord, Options

BATCH_SIZE = 32
TRAIN_TEXTS, EPOCHS = 1000, 5  # size of the sample of training texts and number of passes over it, if a measure trains
Arrays = Mapping[tuple[str, str], np.ndarray]  # by ranking and measure, n values each
Estimates = Mapping[tuple[str, str], Estimate]  # by ranking and measure
Compute = Callable[[ProbedRun, SampledTexts, int], Arrays]


def study(
    name: str,
    description: str | None,
    compute: Compute,
    headings: Mapping[str, str],
    argv: Sequence[str] | None = None,
) -> None:
    """Compute measures of all runs below the folders of a command line, and print their tables.

    A run with a record of the same checkpoint, texts and seed is not measured again.

    Args:
        name: name of the script.
        description: docstring of the script.
        compute: returns the values for a sample of test texts with the seed of all random numbers.
        headings: heading of each measure.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a run, a sweep, or a folder with them")
    parser.add_argument("--texts", type=int, default=TEXTS, help=f"number of test texts (default: {TEXTS})")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default: 0)")
    parser.add_argument("--data-path", help="path of the data, which replaces data.path of the checkpoints")
    args = parser.parse_args(argv)
    with exit_with_message("standard output"):
        variants, file = measurable_variants(args.folders)[0], record_file(name)
        for run in [run for variant in variants for run in variant.runs]:
            digest, data = checkpoint_digest(run.folder), measured_data(run, args.data_path)
            sample = {"texts": args.texts, "seed": args.seed, "measures": list(headings)}
            options, record = Options(checkpoint=digest, data=data, **sample), FaithfulnessRecord.load(run.folder, file)
            if record is None or not record.has(options):
                trained = ProbedRun(run.folder, data_path=args.data_path)
                measure(trained, compute, options).save(run.folder, file)
        estimates = estimates_of(summarize_records(variants, file, list(headings)))
        OutputConsole().print(render_terminal([section(name.capitalize(), estimates, headings)]))


def measure(trained: ProbedRun, compute: Compute, options: Options) -> FaithfulnessRecord:
    """Measure a sample of a run's test texts."""
    sample = trained.sample("test", options.texts, options.seed)
    values = compute(trained, sample, options.seed)
    rankings = list(dict.fromkeys(ranking for ranking, _ in values))
    arrays = {name: np.stack([values[ranking, name] for ranking in rankings], axis=1) for name in options.measures}
    described = {"rankings": rankings, "skipped": sample.skipped}
    return FaithfulnessRecord(options.model_copy(update=described), {"rows": sample.rows, **arrays})


def record_file(script: str) -> str:
    return f"faithfulness_{script}.npz"


def summarize_records(
    variants: Sequence[Variant], file: str = RECORD_FILE, names: Sequence[str] = MEASURES
) -> list[VariantSummary]:
    """Summarize measures in a record of each run, by default those of `src.faithfulness`."""
    records: dict[str, list[FaithfulnessRecord]] = {}
    for variant in variants:
        for run in variant.runs:
            if (record := FaithfulnessRecord.load(run.folder, file)) is None:
                raise UserError(f"{run.folder} has no {file}: first run the command that measures it")
            records.setdefault(variant.name, []).append(record)
    return summarize(variants, records, names)


def estimates_of(summaries: Iterable[VariantSummary]) -> dict[str, Estimates]:
    """Return the estimates of each variant by its name."""
    return {summary.variant.name: summary.measures for summary in summaries}


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


def compute_chunks(trained: ProbedRun, sample: SampledTexts, function: Callable[[np.ndarray], Arrays]) -> Arrays:
    """Join the values of all chunks of a sample; the function receives the positions of the texts of a chunk."""
    chunks = [arrays for _, arrays in map_chunks(trained.probe.device, sample.texts, function)]
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def by_ranking(rankings: Iterable[str], measure: str, values: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """Name the rows of values R×n by their rankings."""
    return {(ranking, measure): row for ranking, row in zip(rankings, values, strict=True)}


def training_batches(probe: Probe, texts: TokenIds, epochs: int, seed: int) -> Iterator[tuple[np.ndarray, Inputs]]:
    """Yield the rows and the inputs of random batches, each of at most 32 texts of similar length."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    for epoch in range(epochs):
        for rows in shuffled(lengths, BATCH_SIZE, seed, True, 0, 1, epoch):
            yield rows, probe.batch([texts[row] for row in rows])
