"""What a comparison says of each variant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from src.comparison.measurements import Measurement
from src.comparison.scores import LOWER_IS_BETTER
from src.comparison.statistics import (
    LEVEL,
    MIN_SEEDS,
    Difference,
    Interval,
    Sample,
    estimate_difference,
    holm,
    mcnemar,
    mean_over_seeds,
)
from src.comparison.variants import Variant

METRICS = ("acc", "f1_macro", "auroc", "ece")  # of every table, in this order
Verdict = Literal["baseline", "better", "worse", "tie", "exploratory"]


@dataclass(frozen=True)
class Row:
    """What a comparison says of one variant. Scores are those of the test split, as shares of 1."""

    variant: Variant
    seeds: int
    metrics: dict[str, Interval]  # METRICS and the one compared, over seeds; missing where the texts define none
    ensemble: float | None  # the metric compared, of the mean of its seeds' probabilities; None for one seed alone
    parameters: int
    seconds_per_epoch: Interval | None  # None where no whole epoch was trained
    peak_memory_mb: float | None  # the highest of its runs
    difference: Interval | None  # to the baseline in the metric compared; None for the baseline itself
    p_value: float | None
    p_adjusted: float | None  # Holm's
    mcnemar: tuple[int, int] | None  # of n seeds that both have, k differ significantly the way the mean does: (k, n)
    verdict: Verdict


def rank_variants(
    measured: Sequence[Measurement], drawn: Sequence[Sample], baseline: Variant, metric: str
) -> list[Row]:
    """A row for each variant, best first; `drawn` resamples what each was measured by."""
    at = next(at for at, held in enumerate(measured) if held.variant is baseline)
    others = [number for number in range(len(measured)) if number != at]
    found = {number: estimate_difference([(1, drawn[number]), (-1, drawn[at])]) for number in others}
    p_values = {number: one.p_value for number, one in found.items() if one.p_value is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    sign = -1 if metric in LOWER_IS_BETTER else 1
    rows = [
        _row(held, measured[at], found.get(number), adjusted.get(number), sign) for number, held in enumerate(measured)
    ]
    return sorted(rows, key=lambda row: -sign * row.metrics[metric].value)


def _row(held: Measurement, base: Measurement, found: Difference | None, adjusted: float | None, sign: int) -> Row:
    variant = held.variant
    seconds = _known(variant, _seconds)
    return Row(
        variant=variant,
        seeds=len(variant.runs),
        metrics={name: mean_over_seeds(values.tolist()) for name, values in held.scores.items()},
        ensemble=held.ensemble,
        parameters=int(variant.runs[0].result["parameters"]["total"]),
        seconds_per_epoch=mean_over_seeds(seconds) if seconds else None,
        peak_memory_mb=max(_known(variant, _memory), default=None),
        difference=found.interval if found else None,
        p_value=found.p_value if found else None,
        p_adjusted=adjusted,
        mcnemar=_mcnemar(held, base) if found else None,
        verdict=_verdict(held, base, found, adjusted, sign),
    )


def _verdict(
    held: Measurement, base: Measurement, found: Difference | None, adjusted: float | None, sign: int
) -> Verdict:
    if found is None:
        return "baseline"
    if min(len(held.variant.runs), len(base.variant.runs)) < MIN_SEEDS:
        return "exploratory"
    if adjusted is None or adjusted >= LEVEL:
        return "tie"
    return "better" if sign * found.value > 0 else "worse"


def _mcnemar(held: Measurement, base: Measurement) -> tuple[int, int] | None:
    """Seeds in which the exact test finds the difference that the means over seeds show, of those that both have."""
    theirs = {run.seed: correct for run, correct in zip(base.variant.runs, base.correct, strict=True)}
    ours = zip(held.variant.runs, held.correct, strict=True)
    pairs = [(correct, theirs[run.seed]) for run, correct in ours if run.seed in theirs]
    if not pairs:
        return None
    margins = [int(a.sum()) - int(b.sum()) for a, b in pairs]
    same_way = [margin * sum(margins) > 0 for margin in margins]
    return sum(way and mcnemar(a, b) < LEVEL for way, (a, b) in zip(same_way, pairs, strict=True)), len(pairs)


def _known(variant: Variant, number: Callable[[dict[str, Any]], float | None]) -> list[float]:
    return [known for run in variant.runs if (known := number(run.result)) is not None]


def _seconds(result: dict[str, Any]) -> float | None:
    """Of an epoch: the median, since the first warms up."""
    epochs = result["seconds"].get("per_epoch")
    return float(np.median(epochs)) if epochs else None


def _memory(result: dict[str, Any]) -> float | None:
    """The accelerator's where there was one, else the process's."""
    peak = result["peak_memory_mb"]
    return peak.get("cuda") or peak.get("process")
