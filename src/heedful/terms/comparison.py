"""Compare finished runs: a ranking of variants, and differences from a baseline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from heedful.base.errors import UserError
from heedful.config.keys import default_metrics, metric_nodes
from heedful.config.mistakes import did_you_mean, no_such
from heedful.records.cost import Cost, measure_costs
from heedful.records.outside import Outside, outside_variant
from heedful.records.runs import ExcludedRun
from heedful.records.statistics import FAITHFULNESS, SECONDS
from heedful.records.variants import Variant, find_variants, pool_folds
from heedful.terms.intervals import LEVEL, MIN_SEEDS, Interval, Sample, estimate, estimate_over_texts, holm
from heedful.terms.measurements import Measurement, measure

SAME = 1e-6  # difference of probabilities that are equal but for rounding
DRAWS = 4000  # for the excess of the best variant
Verdict = Literal["baseline", "better", "worse", "not significant", "exploratory", "not tested"]


@dataclass(frozen=True)
class Row:
    """The results of one variant on the test split."""

    variant: Variant
    metrics: dict[str, Interval]  # means over seeds of scores and statistics, as far as defined
    ensemble: float | None  # compared metric of the mean probabilities over seeds; None for one seed or if undefined
    difference: Interval | None  # from the baseline in the compared metric; None for the baseline
    p_adjusted: float | None  # p-value after Holm's adjustment; None if the difference was not tested
    verdict: Verdict
    linear: Interval | None  # the compared metric of the linear model; None if a run has none
    gain: Interval | None  # difference from the linear model
    gain_p_adjusted: float | None
    gain_verdict: Verdict | None  # None without a linear model
    over_texts: Interval | None = None  # difference from the baseline over the texts of all folds; None without folds
    by_seed: tuple[float, ...] = ()  # the compared metric of the seeds
    hits: np.ndarray | None = None  # S×n, whether the predictions of the seeds are right; None if they are numbers
    class_counts: np.ndarray | None = None  # 3×C, the `class_counts` of the predictions, summed over seeds
    cost: Cost = field(default_factory=Cost)

    @property
    def peak_memory_mb(self) -> float | None:
        """The maximum over the variant's runs; None if unknown."""
        memory = [run.result.peak_memory_mb for run in self.variant.runs]
        return max((peak for of_run in memory if (peak := of_run.cuda or of_run.process)), default=None)


@dataclass(frozen=True)
class Comparison:
    """The content of the tables and the page."""

    rows: tuple[Row, ...]  # best first
    baseline: Row  # an element of rows
    metric: str  # the compared metric, such as "acc"
    lower_is_better: bool  # whether lower values of the compared metric are better
    excluded: tuple[ExcludedRun, ...]  # runs that are not compared
    texts: int  # number of test texts, in all folds together
    command: str  # the command line that compares these folders
    table: tuple[str, ...]  # the scores in every table of scores
    equal: tuple[tuple[str, ...], ...] = ()  # names of variants whose models predict the same
    excess: float = 0.0  # by how much the best of several variants is expected to look better than it is
    rare_classes: str = ""  # those with too few test texts, as `describe_rare_classes` names them

    @property
    def variants(self) -> tuple[Variant, ...]:
        return tuple(row.variant for row in self.rows)

    @property
    def trained(self) -> tuple[Variant, ...]:
        """The variants of runs, without those of other programs."""
        return tuple(variant for variant in self.variants if not variant.outside)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, which are the same in all runs."""
        return self.variants[0].runs[0].result.data.class_names

    @property
    def folds(self) -> int:
        """The number of folds; 1 without cross-validation."""
        return self.variants[0].runs[0].folds


def compare(
    folders: Sequence[Path],
    baseline: str | None = None,
    metric: str | None = None,
    command: str = "",
    ignored: Sequence[str] = (),
    outside: Mapping[str, Outside] = MappingProxyType({}),
) -> Comparison:
    """Compare all runs below the folders.

    Args:
        baseline: name of the variant to compare with. None selects the variant without attention that has the best
            main score in the validation, or, if all variants have attention, the variant that started first.
        metric: the score to compare: one of the task, or a metric that the config group `metrics` of the runs adds, of
            which only the value of each run is known; None means the main score.
        command: the command line that the page shows.
        ignored: keys of options that make no other variant.
        outside: predictions of other programs for the same test texts, by name.
    """
    variants, excluded = find_variants(folders, ignored)
    if taken := outside.keys() & {variant.name for variant in variants}:
        raise UserError(f"outside.{min(taken)}: a variant of the runs has this name; choose another one")
    (reference, *_) = variants[0].runs_by_seed.values()
    variants += [outside_variant(name, given, reference) for name, given in outside.items()]
    runs = [run for variant in variants for run in variant.runs]
    added = dict.fromkeys(name for run in runs for name in metric_nodes(run.config) if name not in default_metrics())
    (first, *_), *_ = variants[0].runs_by_seed.values()
    task = first.predictions().task
    known, metric = [*task.scores, *added], metric or task.main_score
    if metric not in known:
        raise UserError(f"--metric {metric}: {no_such('score', metric, known)}")
    nodes = [node for run in runs if metric not in task.scores and (node := metric_nodes(run.config).get(metric))]
    if any(node != nodes[0] for node in nodes):
        raise UserError(f"--metric {metric}: the runs define it differently; compare runs that use the same definition")
    base = _baseline(variants, baseline, f"val/{task.main_score}")
    measurements = measure(variants, [metric, *task.table, FAITHFULNESS, SECONDS])
    is_recorded = any(metric in run.result.lower_is_better for run in runs)
    lower_is_better = task.scores[metric].lower_is_better if metric in task.scores else is_recorded
    rows = _rank(measurements, base, metric, lower_is_better)
    texts, _ = pool_folds([run.predictions() for run in next(iter(base.runs_by_seed.values()))])
    return Comparison(
        rows=tuple(rows),
        baseline=next(row for row in rows if row.variant is base),
        metric=metric,
        lower_is_better=lower_is_better,
        excluded=excluded,
        texts=len(texts.labels),
        table=task.table,
        equal=tuple(find_equal(measurements, metric)),
        excess=winners_excess([item.samples[metric] for item in measurements], lower_is_better),
        rare_classes=texts.task.describe_rare_classes(texts.labels, texts.groups),
        command=command,
    )


def find_equal(measurements: Sequence[Measurement], metric: str) -> Iterator[tuple[str, ...]]:
    """Yield the names of variants whose predictions are the same, such as two attention mechanisms that are one.

    Only predictions with the same terms of the compared score are read.
    """
    groups: list[list[Measurement]] = []
    for item in measurements:
        for group in groups:
            if _are_equal(item, group[0], metric):
                group.append(item)
                break
        else:
            groups.append([item])
    yield from (tuple(item.variant.name for item in group) for group in groups if len(group) > 1)


def _are_equal(first: Measurement, second: Measurement, metric: str) -> bool:
    ours, theirs = (item.samples[metric].scores for item in (first, second))
    if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=0, atol=SAME):
        return False
    pairs = zip(first.variant.runs, second.variant.runs, strict=True)
    return all(
        np.allclose(a.predictions().probabilities, b.predictions().probabilities, rtol=0, atol=SAME) for a, b in pairs
    )


def judge_differences(
    pairs: Sequence[tuple[Sample, Sample]], lower_is_better: bool = False
) -> list[tuple[Interval, float | None, Verdict]]:
    """Test the difference of the first from the second variant of each pair, together for all pairs.

    Returns:
        For each pair, the difference, its p-value after Holm's adjustment (None without a test), and the verdict.
    """
    differences = [estimate([(1, first), (-1, second)]) for first, second in pairs]
    results = []
    for pair, difference, p_adjusted in zip(pairs, differences, holm([d.p_value for d in differences]), strict=True):
        verdict: Verdict = "not significant"
        if min(len(sample.scores) for sample in pair) < MIN_SEEDS:
            verdict = "exploratory"
        elif any(sample.freedom < 1 for sample in pair):
            verdict = "not tested"
        elif p_adjusted is not None and p_adjusted < LEVEL:
            verdict = "better" if (difference.value > 0) != lower_is_better else "worse"
        results.append((difference, p_adjusted, verdict))
    return results


def winners_excess(samples: Sequence[Sample], lower_is_better: bool) -> float:
    """Return by how much the best of k mean scores is expected to exceed its true mean, 0 or more.

    The true means are estimated by shrinking the observed ones towards their mean, as far as their spread is noise
    (James and Stein 1961). Around these, means are drawn with the covariance that the variants have over the texts (or
    groups, or folds) and with the variance over their own seeds; the excess is the mean noise of the best drawn one.
    """
    if len(samples) < 2:
        return 0.0
    sign = -1.0 if lower_is_better else 1.0
    means = sign * np.array([sample.by_seed.mean() for sample in samples])
    units = np.stack([sample.units.mean(0) for sample in samples])  # k×n
    seeds = [sample.by_seed.var(ddof=1) / len(sample.by_seed) if len(sample.by_seed) > 1 else 0.0 for sample in samples]
    noise = np.diag(seeds) + (np.cov(units) / units.shape[1] if units.shape[1] > 1 else 0.0)
    apart = float(np.trace(noise) / len(noise) - noise.mean())  # the variance of differences from the mean, by noise
    kept = max(0.0, 1 - apart / variance) if (variance := float(means.var(ddof=1))) > 0 else 0.0
    errors = np.random.default_rng(0).multivariate_normal(np.zeros(len(means)), noise, DRAWS, method="eigh")
    best = (means.mean() + kept * (means - means.mean()) + errors).argmax(1)
    return max(0.0, float(errors[np.arange(DRAWS), best].mean()))


def _rank(measurements: Sequence[Measurement], baseline: Variant, metric: str, lower_is_better: bool) -> list[Row]:
    """Return a row for each variant, best first."""
    (base,) = (item.samples[metric] for item in measurements if item.variant is baseline)
    others = [item for item in measurements if item.variant is not baseline]
    judged = judge_differences([(item.samples[metric], base) for item in others], lower_is_better)
    by_name: dict[str, tuple[Interval | None, float | None, Verdict]] = {baseline.name: (None, None, "baseline")}
    by_name |= {item.variant.name: result for item, result in zip(others, judged, strict=True)}
    linear = {item.variant.name: (item.samples[metric], item.linear) for item in measurements if item.linear}
    costs = measure_costs([item.variant for item in measurements])
    gains = dict(zip(linear, judge_differences(list(linear.values()), lower_is_better), strict=True))
    rows = []
    for item in measurements:
        name = item.variant.name
        means = {name: sample.mean for name, sample in item.samples.items()}
        of_linear = None if item.linear is None else item.linear.mean
        gain: tuple[Interval | None, float | None, Verdict | None] = gains.get(name, (None, None, None))
        over_texts = None
        if base.folds is not None and item.variant is not baseline:
            over_texts = estimate_over_texts([(1, item.samples[metric]), (-1, base)])
        by_seed = tuple(item.samples[metric].by_seed.tolist())
        scored = Row(item.variant, means, item.ensemble, *by_name[name], of_linear, *gain, over_texts, by_seed)
        rows.append(replace(scored, hits=item.hits, class_counts=item.class_counts, cost=costs[name]))
    return sorted(rows, key=lambda row: row.metrics[metric].value, reverse=not lower_is_better)


def _baseline(variants: Sequence[Variant], name: str | None, score: str) -> Variant:
    if name is None:
        without_attention = [variant for variant in variants if variant.choices.get("attention") == "none"]

        def mean_score(variant: Variant) -> float:
            scores = [run.result.score(score) for run in variant.runs]
            return float(np.mean([score for score in scores if score is not None] or [0.0]))

        return max(without_attention, key=mean_score, default=variants[0])

    def words(text: str) -> list[str]:  # "lstm none" means "lstm · none"
        return text.lower().replace("·", " ").split()

    for variant in variants:
        if words(variant.name) == words(name):
            return variant
    names = [variant.name for variant in variants]
    similar = did_you_mean(name, names)
    raise UserError("\n  ".join([f"--baseline {name}: no such variant{similar}\nThe variants are:", *names]))
