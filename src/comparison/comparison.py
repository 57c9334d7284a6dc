"""Finished runs as a ranking of variants."""

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

REPEATED = "has the configuration and the seed of a later run, which is compared in its place"


@dataclass(frozen=True)
class Comparison:
    """Everything that tables and the page show."""

    rows: tuple[Row, ...]  # best first
    baseline: Row  # one of rows
    metric: str  # the one compared and ranked by, such as "acc"
    claims: tuple[Claim, ...]
    failed: tuple[ExcludedRun, ...]  # folders that are not compared
    single: bool  # one run alone: nothing to compare
    texts: int  # of the test split
    class_names: tuple[str, ...]
    family: int  # comparisons that p_adjusted allows for
    folders: tuple[Path, ...]  # as given

    @property
    def variants(self) -> tuple[Variant, ...]:
        """In the order of the rows."""
        return tuple(row.variant for row in self.rows)


def compare(folders: Sequence[Path], baseline: str | None = None, metric: str = "acc") -> Comparison:
    """Compare every run below the folders.

    Args:
        folders: of runs or sweeps.
        baseline: name of the variant to compare with. None: the one without attention (of several the best on
            validation), or where all have attention the first that was started.
        metric: what to compare, of SCORES.

    Raises:
        UserError: nothing to compare, different test texts, or no such baseline or metric.
    """
    if metric not in SCORES:
        guess = did_you_mean(nearest(metric, SCORES))
        raise UserError(f"--metric {metric}: no such score{guess} ({', '.join(SCORES)})")
    runs, failed = find_runs(folders)
    require_same_data(runs)
    variants = group_runs(runs)
    base = _baseline(variants, baseline)
    measured = measure(variants, list(dict.fromkeys((*METRICS, metric))), metric)
    seeds = [held.seeds for held in measured]
    drawn = draw_samples([held.compared for held in measured], numbers=seeds)
    accuracy = drawn
    if metric != "acc":
        accuracy = draw_samples([held.correct.astype(np.float64) for held in measured], numbers=seeds)
    by_name = {variant.name: sample for variant, sample in zip(variants, accuracy, strict=True)}
    rows = rank_variants(measured, drawn, base, metric)
    kept = {run.folder for variant in variants for run in variant.runs}
    test = runs[0].predictions()
    return Comparison(
        rows=tuple(rows),
        baseline=next(row for row in rows if row.variant is base),
        metric=metric,
        claims=judge_claims(variants, by_name, find_twins({held.variant.name: held.answers for held in measured})),
        failed=(*failed, *(ExcludedRun(run.folder, "repeated", REPEATED) for run in runs if run.folder not in kept)),
        single=len(kept) == 1,
        texts=len(test.labels),
        class_names=tuple(test.class_names),
        family=sum(row.p_value is not None for row in rows),
        folders=tuple(folders),
    )


def _baseline(variants: Sequence[Variant], name: str | None) -> Variant:
    by_name = {variant.name: variant for variant in variants}
    if name is not None:
        for variant in variants:
            if _typed(variant.name) == _typed(name):
                return variant
        guess = did_you_mean([f'"{one}"' for one in nearest(name, by_name)])
        raise UserError("\n  ".join([f"--baseline {name}: no such variant{guess} They are:", *by_name]))
    plain = [variant for variant in variants if variant.choices.get("attention") == "none"]
    return max(plain, key=_validation) if plain else variants[0]


def _typed(name: str) -> str:
    """A name without its dots, which few keyboards have: "lstm none" means "lstm · none"."""
    return " ".join(name.replace("·", " ").split()).lower()


def _validation(variant: Variant) -> float:
    scores = [run.result.get("metrics", {}).get("val/acc", {}).get("value") for run in variant.runs]
    return float(np.mean([score for score in scores if score is not None] or [0.0]))
