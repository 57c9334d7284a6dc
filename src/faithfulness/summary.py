"""Means of the measures over seeds and texts, with two-level intervals, by variant and ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from src.comparison.statistics import Difference, Interval, draw_samples, estimate_difference
from src.comparison.variants import Variant
from src.errors import UserError
from src.faithfulness.erasure import SHARES
from src.faithfulness.names import RANDOM, RANKINGS
from src.faithfulness.records import Record
from src.faithfulness.seeds import agreement_between_seeds


class Column(NamedTuple):
    """A measure of a ranking, with its heading and the direction that is faithful."""

    name: str
    heading: str
    short: str  # heading on the terminal
    better: str  # high or low


COLUMNS = (
    Column("normalized_comprehensiveness", "comprehensiveness, normalized", "norm. compr.", "high"),
    Column("normalized_sufficiency", "sufficiency, normalized", "norm. suff.", "low"),
    Column("comprehensiveness_removal", "comprehensiveness", "compr.", "high"),
    Column("sufficiency_removal", "sufficiency", "suff.", "low"),
    Column("comprehensiveness_unknown", "comprehensiveness, unknown token", "unknown compr.", "high"),
    Column("sufficiency_unknown", "sufficiency, unknown token", "unknown suff.", "low"),
    Column("soft_comprehensiveness", "soft comprehensiveness", "soft compr.", "high"),
    Column("soft_sufficiency", "soft sufficiency", "soft suff.", "low"),
    Column("flip", "removed until the class changes", "class flip", "low"),
    Column("polarity", "polarity violations", "polarity", "low"),
    Column("auprc", "AUPRC of human rationales", "human AUPRC", "high"),
    Column("token_f1", "token F1 of human rationales", "human F1", "high"),
    Column("iou_f1", "IOU F1 of human rationales", "human IOU", "high"),
)
AGREEMENT = {
    "tau_gradient": "τ(attention, gradient)",
    "tau_leave_one_out": "τ(attention, leave-one-out)",
    "permuted": "TVD, permuted weights",
    "uniform": "TVD, uniform weights",
    "adversarial": "JSD, adversarial weights",
}
SEED_AGREEMENT = {
    "seeds_classes": "predictions: same class",
    "seeds_predictions": "predictions: 1 − TVD",
    "seeds_predictions_above_chance": "predictions: above chance",
    "seeds_attention": "attention: 1 − TVD",
    "seeds_attention_above_chance": "attention: above chance",
    "seeds_attention_top": "attention: common top 10 %",
    "seeds_attention_divergence": "attention: JSD",
}


@dataclass(frozen=True)
class Estimate:
    """The mean of a measure over seeds and texts.

    Args:
        interval: 95 % interval over seeds and texts; over texts alone for one seed.
        texts: number of texts that define the measure in every run.
        against_random: difference to the random ranking; None for that ranking, and for measures without rankings.
    """

    interval: Interval
    texts: int
    against_random: Difference | None = None


@dataclass(frozen=True)
class VariantSummary:
    """The results of one variant."""

    variant: Variant
    records: tuple[Record, ...]  # by seed
    rankings: tuple[str, ...]
    measures: Mapping[tuple[str, str], Estimate]  # by ranking and name of COLUMNS
    agreement: Mapping[str, Estimate]  # by name of AGREEMENT
    seed_agreement: Mapping[str, Estimate]  # by name of SEED_AGREEMENT
    seed_values: Mapping[str, np.ndarray]  # values of the agreement by seed and text, S×n, or 1×n for two seeds
    curves: Mapping[str, tuple[Interval, ...]]  # by ranking, p(c) after the removal of each of SHARES and of no token

    @property
    def seeds(self) -> int:
        return len(self.records)


def summarize(variants: Sequence[Variant], records: Mapping[str, Sequence[Record]]) -> list[VariantSummary]:
    """Summarize the records of each variant; `records` has them by the variant's name, in the order of its runs.

    Raises:
        UserError: if no text was measured in all runs.
    """
    rows = [record.arrays["rows"] for by_seed in records.values() for record in by_seed]
    common = rows[0]
    for other in rows[1:]:
        common = np.intersect1d(common, other)
    if not len(common):
        raise UserError("no test text was measured in all runs: name runs of the same data")
    return [_summarize(variant, [_select(record, common) for record in records[variant.name]]) for variant in variants]


def _select(record: Record, rows: np.ndarray) -> Record:
    index = np.searchsorted(record.arrays["rows"], rows)
    arrays = {name: array if name == "scores" else array[index] for name, array in record.arrays.items()}
    return Record(record.options, arrays)


def _summarize(variant: Variant, records: Sequence[Record]) -> VariantSummary:
    rankings = tuple(name for name in RANKINGS if all(name in record.rankings for record in records))
    measures: dict[tuple[str, str], Estimate] = {}
    for column in COLUMNS:
        by_ranking = {
            ranking: _stack([record.values(column.name, ranking) for record in records]) for ranking in rankings
        }
        measures |= {(ranking, column.name): estimate for ranking, estimate in _estimate(by_ranking).items()}
    agreement: dict[str, Estimate] = {}
    for name in AGREEMENT:
        agreement |= _estimate({name: _stack([record.arrays.get(name) for record in records])})
    seed_values = agreement_between_seeds(records)
    seed_agreement: dict[str, Estimate] = {}
    for name, values in seed_values.items():
        seed_agreement |= _estimate({name: values})
    curves = _curves(records, rankings)
    return VariantSummary(variant, tuple(records), rankings, measures, agreement, seed_agreement, seed_values, curves)


def _stack(values: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """S×n, or None if a run lacks the measure."""
    present = [array for array in values if array is not None]
    return np.stack(present).astype(np.float64) if len(present) == len(values) else None


def _estimate(by_ranking: Mapping[str, np.ndarray | None]) -> dict[str, Estimate]:
    """The mean of each measure S×n, on the texts that define all of them, and its difference to the random ranking."""
    present = {name: values for name, values in by_ranking.items() if values is not None}
    defined = np.all([~np.isnan(values).any(0) for values in present.values()], axis=0) if present else np.zeros(0)
    if not defined.any():
        return {}
    samples = dict(zip(present, draw_samples([values[:, defined] for values in present.values()]), strict=True))
    return {
        name: Estimate(
            estimate_difference([(1, sample)]).interval,
            int(defined.sum()),
            None
            if name == RANDOM or RANDOM not in samples
            else _paired(present[name][:, defined], present[RANDOM][:, defined]),
        )
        for name, sample in samples.items()
    }


def _paired(values: np.ndarray, others: np.ndarray) -> Difference:
    """The mean difference of two measures of the same runs and texts."""
    return estimate_difference([(1, draw_samples([values - others])[0])])


def _curves(records: Sequence[Record], rankings: Sequence[str]) -> dict[str, tuple[Interval, ...]]:
    if not all(record.has("comprehensiveness_removal") for record in records):
        return {}
    whole = np.stack([record.probability for record in records])  # S×n
    curves = {}
    for ranking in rankings:
        drops = np.stack([record.of("comprehensiveness_removal", ranking) for record in records])  # S×n×5
        points = [whole, *(whole - drops[:, :, share] for share in range(len(SHARES)))]
        curves[ranking] = tuple(estimate_difference([(1, sample)]).interval for sample in draw_samples(points))
    return curves
