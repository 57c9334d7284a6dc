"""One row for each variant: scores, difference from the baseline, cost and verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from src.records.variants import Variant
from src.terms.intervals import LEVEL, Difference, Interval, estimate, mean_over_seeds
from src.terms.measurements import FAITHFULNESS, Measurement, sample_runs
from src.terms.significance import Verdict, difference_verdict, holm, mcnemar

METRICS = ("acc", "f1_macro", "auroc", "ece")  # the scores in every table of scores


@dataclass(frozen=True)
class Row:
    """The results of one variant on the test split."""

    variant: Variant
    seeds: int
    metrics: dict[str, Interval]  # mean over seeds of each score that was computed and is defined
    ensemble: float | None  # compared metric of the mean probabilities over seeds; None for one seed or if undefined
    parameters: int
    seconds_per_epoch: Interval | None  # None if no epoch was completed
    peak_memory_mb: float | None  # the maximum over the variant's runs; None if unknown
    difference: Interval | None  # from the baseline in the compared metric; None for the baseline
    p_value: float | None  # unadjusted p-value of the difference; None if it was not tested
    p_adjusted: float | None  # p-value after Holm's adjustment; None if the difference was not tested
    # (k, n): for k of the n seeds that the variant shares with the baseline, McNemar's test is significant, with the
    # same sign as the mean difference; None for the baseline, and if no seed is shared
    mcnemar: tuple[int, int] | None
    verdict: Verdict
    faithfulness: dict[str, Interval]  # mean over seeds of each statistic in FAITHFULNESS that was measured


def rank_variants(
    measurements: Sequence[Measurement], baseline: Variant, metric: str, lower_is_better: bool
) -> list[Row]:
    """Return a row for each variant, best first.

    Args:
        lower_is_better: whether lower values of the compared metric are better.
    """
    base = next(measurement for measurement in measurements if measurement.variant is baseline)
    differences = {
        item.variant.name: estimate([(1, item.samples[metric]), (-1, base.samples[metric])])
        for item in measurements
        if item is not base
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
    variant, seeds = measurement.variant, len(measurement.variant.seeds)
    # the median over epochs, because the first epoch includes warm-up
    medians = [
        [float(np.median(run.result.seconds.per_epoch)) for run in runs if run.result.seconds.per_epoch]
        for runs in variant.runs_by_seed.values()
    ]
    seconds = [float(np.mean(values)) for values in medians if values]
    memory = [run.result.peak_memory_mb for run in variant.runs]
    peaks = [peak for of_run in memory if (peak := of_run.cuda or of_run.process)]
    verdict: Verdict = "baseline"
    if difference is not None:
        fewer_seeds = min(seeds, len(baseline.variant.seeds))
        verdict = difference_verdict(sign * difference.value, p_adjusted, fewer_seeds)
    return Row(
        variant=variant,
        seeds=seeds,
        metrics={name: mean_over_seeds(sample.by_seed.tolist()) for name, sample in measurement.samples.items()},
        ensemble=measurement.ensemble,
        parameters=variant.runs[0].parameters,
        seconds_per_epoch=mean_over_seeds(seconds) if seconds else None,
        peak_memory_mb=max(peaks, default=None),
        difference=difference.interval if difference else None,
        p_value=difference.p_value if difference else None,
        p_adjusted=p_adjusted,
        mcnemar=_mcnemar(measurement, baseline) if difference else None,
        verdict=verdict,
        faithfulness={
            name: mean_over_seeds(sample.by_seed.tolist())
            for name in FAITHFULNESS
            for sample in sample_runs([variant], name).values()
        },
    )


def _mcnemar(measurement: Measurement, baseline: Measurement) -> tuple[int, int] | None:
    """Return `Row.mcnemar` of a variant other than the baseline."""
    correct, baseline_correct = (
        dict(zip(side.variant.seeds, side.correct, strict=True)) for side in (measurement, baseline)
    )
    pairs = [(correct[seed], baseline_correct[seed]) for seed in correct if seed in baseline_correct]
    if not pairs:
        return None
    margins = [int(a.sum()) - int(b.sum()) for a, b in pairs]
    same_sign = [margin * sum(margins) > 0 for margin in margins]
    return sum(agrees and mcnemar(a, b) < LEVEL for agrees, (a, b) in zip(same_sign, pairs, strict=True)), len(pairs)
