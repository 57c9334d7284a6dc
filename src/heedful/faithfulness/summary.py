"""Means of the measures over seeds and texts, with two-level intervals, by variant and ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from heedful.base.errors import UserError
from heedful.records.runs import FinishedRun
from heedful.records.variants import Variant
from heedful.runs.faithfulness_record import COLUMNS, RANDOM, RANKINGS, Column, FaithfulnessRecord
from heedful.terms.intervals import Interval, Sample, estimate

MEASURES = tuple(column.name for column in COLUMNS)


@dataclass(frozen=True)
class Estimate:
    """The mean of a measure over seeds and texts."""

    interval: Interval  # 95 %, over seeds and texts; with one seed, over texts alone
    texts: int  # for which the measure is defined in every run and for every ranking
    against_random: Interval | None = None  # the difference; None for the random ranking, and for measures without it


@dataclass(frozen=True)
class VariantSummary:
    """The results of one variant."""

    variant: Variant
    records: tuple[FaithfulnessRecord, ...]  # one for each seed
    rankings: tuple[str, ...]
    measures: Mapping[tuple[str, str], Estimate]  # by ranking and name of the measure
    groups: np.ndarray | None = None  # n, the group of each text; None if the texts are independent

    @property
    def columns(self) -> list[Column]:
        """The columns that have values."""
        measured = {name for _, name in self.measures}
        return [column for column in COLUMNS if column.name in measured]

    @property
    def seeds(self) -> int:
        return len(self.records)


def summarize(
    variants: Sequence[Variant],
    records: Mapping[str, Sequence[FaithfulnessRecord]],
    names: Sequence[str] = MEASURES,
) -> list[VariantSummary]:
    """Summarize each variant by its records, which are in the order of its runs."""
    common = reduce(np.intersect1d, [record.arrays["rows"] for by_seed in records.values() for record in by_seed])
    if not len(common):
        raise UserError("no test text was measured in all runs: name runs of the same data")
    groups = _groups(variants[0].runs[0], common)
    return [
        _summarize(variant, [_select(record, common) for record in records[variant.name]], names, groups)
        for variant in variants
    ]


def _groups(run: FinishedRun, rows: np.ndarray) -> np.ndarray | None:
    """Return the groups of the texts in these rows of the test split; all texts without a prediction are one group."""
    predictions = run.predictions()
    if predictions.groups is None:
        return None
    by_row = dict(zip(predictions.index.tolist(), predictions.groups.tolist(), strict=True))
    return np.array([by_row.get(row, -1) for row in rows.tolist()])


def _select(record: FaithfulnessRecord, rows: np.ndarray) -> FaithfulnessRecord:
    index = np.searchsorted(record.arrays["rows"], rows)
    return FaithfulnessRecord(record.options, {name: array[index] for name, array in record.arrays.items()})


def _summarize(
    variant: Variant, records: Sequence[FaithfulnessRecord], names: Sequence[str], groups: np.ndarray | None
) -> VariantSummary:
    rankings = tuple(name for name in RANKINGS if all(name in record.options.rankings for record in records))
    measures: dict[tuple[str, str], Estimate] = {}
    for name in names:
        by_ranking = {ranking: stack([record.values(name, ranking) for record in records]) for ranking in rankings}
        measures |= {(ranking, name): value for ranking, value in estimate_rankings(by_ranking, groups).items()}
    return VariantSummary(variant, tuple(records), rankings, measures, groups)


def stack(values: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Stack the values of all runs as S×n float64; return None if a run lacks them."""
    present = [array for array in values if array is not None]
    return np.stack(present).astype(np.float64) if len(present) == len(values) else None


def estimate_rankings(
    by_ranking: Mapping[str, np.ndarray | None], groups: np.ndarray | None = None
) -> dict[str, Estimate]:
    """Estimate means and differences from the random ranking, over texts with values for all rankings that have any.

    The values are S×n; `groups` has the group of each text, None if the texts are independent.
    """
    present = {name: values for name, values in by_ranking.items() if values is not None}
    defined = np.all([~np.isnan(values).any(0) for values in present.values()], axis=0) if present else np.zeros(0)
    if not defined.any():
        return {}
    estimates = {}
    for name, values in present.items():
        against_random = None
        if name != RANDOM and RANDOM in present:
            against_random = estimate([(1, Sample(values - present[RANDOM], groups=groups).select(defined))])
        interval = estimate([(1, Sample(values, groups=groups).select(defined))])
        estimates[name] = Estimate(interval, int(defined.sum()), against_random)
    return estimates
