"""One row for each variant: scores, difference from the baseline, cost and verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from src.comparison.measurements import FAITHFULNESS, Measurement, sample_runs
from src.comparison.statistics import LEVEL, MIN_SEEDS, Interval, holm, mcnemar, mean_over_seeds
from src.comparison.two_level_bootstrap import Difference, Sample, estimate_difference
from src.comparison.variants import Variant

METRICS = ("acc", "f1_macro", "auroc", "ece")  # the scores in every table
Verdict = Literal["baseline", "better", "worse", "not significant", "exploratory"]


@dataclass(frozen=True)
class Row:
    """The results of one variant on the test split."""

    variant: Variant
    seeds: int
    metrics: dict[str, Interval]  # means over the seeds, of METRICS and the compared metric; without undefined ones
    ensemble: float | None  # the compared metric of the probabilities averaged over seeds; None for one seed
    parameters: int
    seconds_per_epoch: Interval | None  # None if no epoch was completed
    peak_memory_mb: float | None  # the maximum over the variant's runs
    difference: Interval | None  # from the baseline in the compared metric; None for the baseline
    p_value: float | None  # of the difference, unadjusted
    p_adjusted: float | None  # after Holm's adjustment
    # (k, n): for k of the n shared seeds, McNemar's test is significant with the same sign as the mean difference
    mcnemar: tuple[int, int] | None
    verdict: Verdict
    faithfulness: dict[str, Interval]  # means over seeds of FAITHFULNESS; empty if not measured


def rank_variants(
    measurements: Sequence[Measurement],
    samples: Mapping[str, Sample],
    baseline: Variant,
    metric: str,
    lower_is_better: bool,
) -> list[Row]:
    """Return a row for each variant, best first.

    Args:
        samples: samples of the compared metric, by variant name.
        lower_is_better: whether the lowest value of the compared metric is the best.
    """
    base = next(measurement for measurement in measurements if measurement.variant is baseline)
    differences = {
        measurement.variant.name: estimate_difference(
            [(1, samples[measurement.variant.name]), (-1, samples[baseline.name])]
        )
        for measurement in measurements
        if measurement is not base
    }
    p_values = {name: result.p_value for name, result in differences.items() if result.p_value is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    sign = -1 if lower_is_better else 1
    rows = [
        _row(measurement, base, differences.get(measurement.variant.name), adjusted.get(measurement.variant.name), sign)
        for measurement in measurements
    ]
    return sorted(rows, key=lambda row: -sign * row.metrics[metric].value)


def _row(
    measurement: Measurement, baseline: Measurement, difference: Difference | None, p_adjusted: float | None, sign: int
) -> Row:
    results = [run.result for run in measurement.variant.runs]
    # the median over epochs, because the first epoch includes warm-up
    medians = [
        [float(np.median(run.result.seconds.per_epoch)) for run in runs if run.result.seconds.per_epoch]
        for runs in measurement.variant.runs_by_seed.values()
    ]
    seconds = [float(np.mean(values)) for values in medians if values]
    peaks = [peak for result in results if (peak := result.peak_memory_mb.cuda or result.peak_memory_mb.process)]
    return Row(
        variant=measurement.variant,
        seeds=len(measurement.seeds),
        metrics={name: mean_over_seeds(values.tolist()) for name, values in measurement.scores.items()},
        ensemble=measurement.ensemble,
        parameters=measurement.variant.runs[0].parameters,
        seconds_per_epoch=mean_over_seeds(seconds) if seconds else None,
        peak_memory_mb=max(peaks, default=None),
        difference=difference.interval if difference else None,
        p_value=difference.p_value if difference else None,
        p_adjusted=p_adjusted,
        mcnemar=_mcnemar(measurement, baseline) if difference else None,
        verdict=_variant_verdict(measurement, baseline, difference, p_adjusted, sign),
        faithfulness={
            name: mean_over_seeds(sample.scores.tolist())
            for name in FAITHFULNESS
            for sample in sample_runs([measurement.variant], name).values()
        },
    )


def _variant_verdict(
    measurement: Measurement, baseline: Measurement, difference: Difference | None, p_adjusted: float | None, sign: int
) -> Verdict:
    if difference is None:
        return "baseline"
    return difference_verdict(sign * difference.value, p_adjusted, min(len(measurement.seeds), len(baseline.seeds)))


def difference_verdict(gain: float, p_adjusted: float | None, seeds: int) -> Verdict:
    """Return the verdict on a difference.

    Args:
        gain: the difference, positive if the variant is better.
        p_adjusted: p-value after Holm's adjustment; None if there was no test.
        seeds: the smaller of the two variants' numbers of seeds.
    """
    if seeds < MIN_SEEDS:
        return "exploratory"
    if p_adjusted is None or p_adjusted >= LEVEL:
        return "not significant"
    return "better" if gain > 0 else "worse"


def _mcnemar(measurement: Measurement, baseline: Measurement) -> tuple[int, int] | None:
    """Return the value of `Row.mcnemar`; None if the variants share no seed."""
    baseline_correct = dict(zip(baseline.seeds, baseline.by_text["acc"] > 0, strict=True))
    correct_by_seed = zip(measurement.seeds, measurement.by_text["acc"] > 0, strict=True)
    pairs = [(correct, baseline_correct[seed]) for seed, correct in correct_by_seed if seed in baseline_correct]
    if not pairs:
        return None
    margins = [int(a.sum()) - int(b.sum()) for a, b in pairs]
    same_sign = [margin * sum(margins) > 0 for margin in margins]
    return sum(agrees and mcnemar(a, b) < LEVEL for agrees, (a, b) in zip(same_sign, pairs, strict=True)), len(pairs)
