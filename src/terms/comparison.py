"""Compare finished runs: a ranking of variants, differences from a baseline, and claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from omegaconf import OmegaConf

from src.config.keys import default_metrics, metric_nodes
from src.config.mistakes import did_you_mean, no_such
from src.config.overrides import escape_references
from src.errors import UserError
from src.records.runs import ExcludedRun, FinishedRun, find_runs
from src.records.variants import Variant, group_runs, with_complete_folds
from src.terms.claims import Claim, judge_claims
from src.terms.intervals import LEVEL, MIN_SEEDS, Difference, Interval, estimate, holm, mean_of_terms
from src.terms.measurements import FAITHFULNESS, Measurement, measure, require_same_data, sample_runs
from src.terms.scores import SCORES, ScoreType
from src.terms.study import DEFAULT_STUDY, load_study, match_pairs

METRICS = ("acc", "f1_macro", "auroc", "ece")  # the scores in every table of scores
REPEATED = "a later run has the same configuration and seed, and is compared instead"
Verdict = Literal["baseline", "better", "worse", "not significant", "exploratory"]


@dataclass(frozen=True)
class Row:
    """The results of one variant on the test split."""

    variant: Variant
    metrics: dict[str, Interval]  # mean over seeds of each score that was computed and is defined
    ensemble: float | None  # compared metric of the mean probabilities over seeds; None for one seed or if undefined
    difference: Difference | None  # from the baseline in the compared metric; None for the baseline
    p_adjusted: float | None  # p-value after Holm's adjustment; None if the difference was not tested
    verdict: Verdict
    linear: Interval | None  # the compared metric of the linear baseline; None if a run has none
    gain: Difference | None  # from the linear baseline
    faithfulness: dict[str, Interval]  # mean over seeds of each statistic in FAITHFULNESS that was measured

    @property
    def seconds_per_epoch(self) -> Interval | None:
        """The median over epochs, because the first includes warm-up, and its mean over folds and then over seeds."""
        medians = [
            [float(np.median(run.result.seconds.per_epoch)) for run in runs if run.result.seconds.per_epoch]
            for runs in self.variant.runs_by_seed.values()
        ]
        seconds = [float(np.mean(values)) for values in medians if values]
        return mean_of_terms(seconds) if seconds else None

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
    claims: tuple[Claim, ...]
    excluded: tuple[ExcludedRun, ...]  # runs that are not compared
    texts: int  # number of test texts, in all folds together
    class_names: tuple[str, ...]
    command: str  # the command line that compares these folders

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants, in the order of the rows."""
        return tuple(row.variant for row in self.rows)

    @property
    def folds(self) -> int:
        """The number of folds; 1 without cross-validation."""
        return self.variants[0].runs[0].folds


def compare(
    folders: Sequence[Path],
    baseline: str | None = None,
    metric: str = "acc",
    study: Path | None = None,
    command: str = "",
) -> Comparison:
    """Compare all runs below the folders.

    Args:
        baseline: name of the variant to compare with. None selects the variant without attention that has the best
            validation accuracy, or, if all variants have attention, the variant that started first.
        metric: the score to compare: a key of SCORES, or a metric added in the config group `metrics` of the runs.
        study: file with the claims to judge. None selects the claims in DEFAULT_STUDY that concern compared variants.
        command: the command line that the page shows.
    """
    runs, excluded = find_runs(folders)
    added = dict.fromkeys(name for run in runs for name in metric_nodes(run.config) if name not in default_metrics())
    known = [*SCORES, *added]
    if metric not in known:
        raise UserError(f"--metric {metric}: {no_such('score', metric, known)}")
    require_same_data(runs)
    score = SCORES.get(metric) or _added_score(runs, metric)
    variants, incomplete = with_complete_folds(group_runs(runs))
    base = _baseline(variants, baseline)
    definitions = [
        claim
        for claim in load_study(study or DEFAULT_STUDY, variants).claims
        if study or match_pairs(variants, claim.variants, claim.against)
    ]
    claimed = [claim.metric for claim in definitions if claim.metric in SCORES]
    measurements = measure(variants, metric, (*METRICS, *claimed), score)
    listed = {run.folder for variant in variants for run in variant.runs} | {run.folder for run in incomplete}
    repeated = [ExcludedRun(run.folder, "repeated", REPEATED) for run in runs if run.folder not in listed]
    is_single_run = sum(len(variant.seeds) for variant in variants) == 1
    rows = _rank(measurements, base, metric, score.lower_is_better)
    return Comparison(
        rows=tuple(rows),
        baseline=next(row for row in rows if row.variant is base),
        metric=metric,
        lower_is_better=score.lower_is_better,
        claims=() if is_single_run else judge_claims(definitions, measurements),
        excluded=(*excluded, *incomplete, *repeated),
        texts=measurements[0].samples["acc"].scores.shape[1],
        class_names=tuple(variants[0].runs[0].predictions().class_names),
        command=command,
    )


def difference_verdict(gain: float, p_adjusted: float | None, seeds: int) -> Verdict:
    """Return the verdict on a difference.

    Args:
        gain: the difference, positive if the variant is better.
        seeds: number of seeds of the variant or of the baseline, whichever has fewer.
    """
    if seeds < MIN_SEEDS:
        return "exploratory"
    if p_adjusted is None or p_adjusted >= LEVEL:
        return "not significant"
    return "better" if gain > 0 else "worse"


def _rank(measurements: Sequence[Measurement], baseline: Variant, metric: str, lower_is_better: bool) -> list[Row]:
    """Return a row for each variant, best first."""
    base = next(item for item in measurements if item.variant is baseline)
    sign = -1 if lower_is_better else 1
    differences = [
        None if item is base else estimate([(1, item.samples[metric]), (-1, base.samples[metric])])
        for item in measurements
    ]
    adjusted = holm([difference and difference.p_value for difference in differences])
    rows = []
    for item, difference, p_adjusted in zip(measurements, differences, adjusted, strict=True):
        verdict: Verdict = "baseline"
        if difference is not None:
            fewer_seeds = min(len(item.variant.seeds), len(baseline.seeds))
            verdict = difference_verdict(sign * difference.value, p_adjusted, fewer_seeds)
        faithfulness = {name: sample for name in FAITHFULNESS for sample in sample_runs([item.variant], name).values()}
        metrics, statistics = (
            {name: mean_of_terms(sample.by_seed) for name, sample in samples.items()}
            for samples in (item.samples, faithfulness)
        )
        linear = gain = None
        if item.linear is not None:
            linear = mean_of_terms(item.linear.by_seed)
            gain = estimate([(1, item.samples[metric]), (-1, item.linear)])
        rows.append(
            Row(item.variant, metrics, item.ensemble, difference, p_adjusted, verdict, linear, gain, statistics)
        )
    return sorted(rows, key=lambda row: -sign * row.metrics[metric].value)


def _baseline(variants: Sequence[Variant], name: str | None) -> Variant:
    if name is None:
        without_attention = [variant for variant in variants if variant.choices.get("attention") == "none"]
        return max(without_attention, key=_validation_accuracy) if without_attention else variants[0]
    # "lstm none" means "lstm · none"
    by_words = {tuple(variant.name.lower().replace("·", " ").split()): variant for variant in reversed(variants)}
    if variant := by_words.get(tuple(name.lower().replace("·", " ").split())):
        return variant
    names = [variant.name for variant in variants]
    similar = did_you_mean(name, names)
    raise UserError("\n  ".join([f"--baseline {name}: no such variant{similar}\nThe variants are:", *names]))


def _validation_accuracy(variant: Variant) -> float:
    scores = [run.result.score("val/acc") for run in variant.runs]
    return float(np.mean([score for score in scores if score is not None] or [0.0]))


def _added_score(runs: Sequence[FinishedRun], name: str) -> ScoreType:
    """Create a metric, a class of `torchmetrics.classification`, from its definition in the runs' configurations."""
    from src import build
    from src.terms.added_metrics import added_score  # imports torch

    nodes = [node for run in runs if (node := metric_nodes(run.config).get(name)) is not None]
    if any(node != nodes[0] for node in nodes):
        raise UserError(f"--metric {name}: the runs define it differently; compare runs that use the same definition")
    cfg = OmegaConf.create({"metrics": {name: escape_references(nodes[0])}})
    return added_score(build.metric(cfg, name, len(runs[0].predictions().class_names)), name)
