"""Means of the measures over seeds and texts, with two-level intervals, by variant and ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from src.errors import UserError
from src.faithfulness.accuracy import accuracies
from src.faithfulness.seeds import agreement_between_seeds
from src.records.faithfulness import SHARES, Record
from src.records.faithfulness_names import ADVERSARY_ARRAYS, AGREEMENT, COLUMNS, GUIDES, RANDOM, RANKINGS
from src.records.variants import Variant
from src.terms.intervals import Difference, Interval, Sample, estimate

BY_TEXT = (*AGREEMENT, *GUIDES, *ADVERSARY_ARRAYS)  # arrays of a record with one value for each text


@dataclass(frozen=True)
class Estimate:
    """The mean of a measure over seeds and texts.

    Args:
        interval: the mean with its 95 % interval over seeds and texts; with one seed, over texts alone.
        texts: number of texts for which the measure is defined in every run and for every ranking; None for accuracy,
            which is a mean over all test texts.
        against_random: difference from the random ranking; None for the random ranking, and for measures of the whole
            model.
    """

    interval: Interval
    texts: int | None
    against_random: Difference | None = None


@dataclass(frozen=True)
class VariantSummary:
    """The results of one variant."""

    variant: Variant
    records: tuple[Record, ...]  # one for each seed
    rankings: tuple[str, ...]
    measures: Mapping[tuple[str, str], Estimate]  # by ranking and name in COLUMNS
    without_ranking: Mapping[str, Estimate]  # measures of the whole model, by name
    seed_values: Mapping[str, np.ndarray]  # result of `agreement_between_seeds`
    # by ranking: p(c) of the whole text, then p(c) after the removal of each of SHARES
    curves: Mapping[str, tuple[Interval, ...]]

    @property
    def seeds(self) -> int:
        return len(self.records)


def summarize(variants: Sequence[Variant], records: Mapping[str, Sequence[Record]]) -> list[VariantSummary]:
    """Summarize each variant; `records` maps the name of a variant to its records, in the order of its runs.

    Raises:
        UserError: if no text was measured in all runs.
    """
    rows = [record.arrays["rows"] for by_seed in records.values() for record in by_seed]
    common = rows[0]
    for other in rows[1:]:
        common = np.intersect1d(common, other)
    if not len(common):
        raise UserError("no test text was measured in all runs: name runs of the same data")
    accuracy = accuracies(variants)
    return [
        _summarize(variant, [_select(record, common) for record in records[variant.name]], accuracy[variant.name])
        for variant in variants
    ]


def _select(record: Record, rows: np.ndarray) -> Record:
    index = np.searchsorted(record.arrays["rows"], rows)
    arrays = {name: array if name == "scores" else array[index] for name, array in record.arrays.items()}
    return Record(record.options, arrays)


def _summarize(variant: Variant, records: Sequence[Record], accuracy: Mapping[str, Difference]) -> VariantSummary:
    rankings = tuple(name for name in RANKINGS if all(name in record.rankings for record in records))
    measures: dict[tuple[str, str], Estimate] = {}
    for column in COLUMNS:
        by_ranking = {
            ranking: stack([record.values(column.name, ranking) for record in records]) for ranking in rankings
        }
        measures |= {(ranking, column.name): estimate for ranking, estimate in _estimate(by_ranking).items()}
    seed_values = agreement_between_seeds(records)
    of_texts: dict[str, np.ndarray | None] = dict(seed_values)
    of_texts |= {name: stack([record.arrays.get(name) for record in records]) for name in BY_TEXT}
    attention, uniform = of_texts["guide_attention"], of_texts["guide_uniform"]
    of_texts["guide_difference"] = None if attention is None or uniform is None else attention - uniform
    without_ranking = {name: Estimate(difference.interval, None) for name, difference in accuracy.items()}
    for name, values in of_texts.items():
        without_ranking |= _estimate({name: values})
    return VariantSummary(
        variant, tuple(records), rankings, measures, without_ranking, seed_values, _curves(records, rankings)
    )


def stack(values: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Stack the values of all runs as S×n float64; return None if a run lacks them."""
    present = [array for array in values if array is not None]
    return np.stack(present).astype(np.float64) if len(present) == len(values) else None


def _estimate(by_ranking: Mapping[str, np.ndarray | None]) -> dict[str, Estimate]:
    """Estimate each ranking's mean and difference from the random ranking, over texts with values for all rankings."""
    present = {name: values for name, values in by_ranking.items() if values is not None}
    defined = np.all([~np.isnan(values).any(0) for values in present.values()], axis=0) if present else np.zeros(0)
    if not defined.any():
        return {}
    scores = {name: values[:, defined] for name, values in present.items()}
    estimates = {}
    for name, values in scores.items():
        against_random = None
        if name != RANDOM and RANDOM in scores:
            against_random = estimate([(1, Sample(values - scores[RANDOM]))])
        estimates[name] = Estimate(estimate([(1, Sample(values))]).interval, int(defined.sum()), against_random)
    return estimates


def _curves(records: Sequence[Record], rankings: Sequence[str]) -> dict[str, tuple[Interval, ...]]:
    if not all("comprehensiveness_removal" in record.arrays for record in records):
        return {}
    whole = np.stack([record.probability for record in records])  # S×n
    curves = {}
    for ranking in rankings:
        drops = np.stack([record.of("comprehensiveness_removal", ranking) for record in records])  # S×n×5
        points = [whole, *(whole - drops[:, :, share] for share in range(len(SHARES)))]
        curves[ranking] = tuple(estimate([(1, Sample(values))]).interval for values in points)
    return curves
