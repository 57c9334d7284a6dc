"""Compare finished runs: a ranking of variants, differences to a baseline, and claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from src.comparison.claims import Claim, judge_claims
from src.comparison.measurements import measure, require_same_data
from src.comparison.rows import METRICS, Row, rank_variants
from src.comparison.runs import ExcludedRun, find_runs
from src.comparison.scores import SCORES
from src.comparison.statistics import draw_samples
from src.comparison.twins import find_twins
from src.comparison.variants import Variant, group_runs
from src.config.mistakes import did_you_mean, nearest
from src.errors import UserError

REPEATED = "a later run has the same configuration and seed, and is compared instead"


@dataclass(frozen=True)
class Comparison:
    """The content of the tables and the page."""

    rows: tuple[Row, ...]  # best first
    baseline: Row  # one of rows
    metric: str  # the compared metric, such as "acc"
    claims: tuple[Claim, ...]
    excluded: tuple[ExcludedRun, ...]  # folders that are not compared
    is_single_run: bool  # there is nothing to compare
    texts: int  # of the test split
    class_names: tuple[str, ...]
    num_tests: int  # differences that p_adjusted allows for
    folders: tuple[Path, ...]  # the arguments

    @property
    def variants(self) -> tuple[Variant, ...]:
        """In the order of the rows."""
        return tuple(row.variant for row in self.rows)


def compare(folders: Sequence[Path], baseline: str | None = None, metric: str = "acc") -> Comparison:
    """Compare every run below the folders.

    Args:
        folders: of runs or sweeps.
        baseline: name of the variant to compare with. None: the variant without attention (of several, the best on
            validation), or the first that was started where all have attention.
        metric: the score to compare, of SCORES.

    Raises:
        UserError: there is nothing to compare, the test texts differ, or no such baseline or metric exists.
    """
    if metric not in SCORES:
        guess = did_you_mean(nearest(metric, SCORES))
        raise UserError(f"--metric {metric}: no such score{guess} ({', '.join(SCORES)})")
    runs, excluded = find_runs(folders)
    require_same_data(runs)
    variants = group_runs(runs)
    base = _baseline(variants, baseline)
    measurements = measure(variants, list(dict.fromkeys((*METRICS, metric))), metric)
    seeds = [measurement.seeds for measurement in measurements]
    samples = draw_samples([measurement.compared for measurement in measurements], seeds=seeds)
    accuracy = samples
    if metric != "acc":
        correct = [measurement.correct.astype(np.float64) for measurement in measurements]
        accuracy = draw_samples(correct, seeds=seeds)
    by_name = {variant.name: sample for variant, sample in zip(variants, accuracy, strict=True)}
    twins = find_twins({measurement.variant.name: measurement.digests for measurement in measurements})
    rows = rank_variants(measurements, samples, base, metric)
    compared = {run.folder for variant in variants for run in variant.runs}
    repeated = [ExcludedRun(run.folder, "repeated", REPEATED) for run in runs if run.folder not in compared]
    test = runs[0].predictions()
    return Comparison(
        rows=tuple(rows),
        baseline=next(row for row in rows if row.variant is base),
        metric=metric,
        claims=judge_claims(variants, by_name, twins),
        excluded=(*excluded, *repeated),
        is_single_run=len(compared) == 1,
        texts=len(test.labels),
        class_names=tuple(test.class_names),
        num_tests=sum(row.p_value is not None for row in rows),
        folders=tuple(folders),
    )


def _baseline(variants: Sequence[Variant], name: str | None) -> Variant:
    by_name = {variant.name: variant for variant in variants}
    if name is not None:
        for variant in variants:
            if _normalized(variant.name) == _normalized(name):
                return variant
        guess = did_you_mean([f'"{match}"' for match in nearest(name, by_name)])
        raise UserError("\n  ".join([f"--baseline {name}: no such variant{guess} The variants are:", *by_name]))
    without_attention = [variant for variant in variants if variant.choices.get("attention") == "none"]
    return max(without_attention, key=_validation_accuracy) if without_attention else variants[0]


def _normalized(name: str) -> str:
    """A name without dots, which are hard to type: "lstm none" means "lstm · none"."""
    return " ".join(name.replace("·", " ").split()).lower()


def _validation_accuracy(variant: Variant) -> float:
    scores = [run.result.score("val/acc") for run in variant.runs]
    return float(np.mean([score for score in scores if score is not None] or [0.0]))
