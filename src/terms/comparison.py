"""Compare finished runs: a ranking of variants, differences from a baseline, and claims."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from omegaconf import OmegaConf

from src.config.metrics import default_metrics, metric_nodes
from src.config.quoting import escape_references
from src.errors import UserError
from src.misspellings import nearest, no_such
from src.records.folds import with_complete_folds
from src.records.runs import ExcludedRun, FinishedRun, find_runs
from src.records.twins import find_twins
from src.records.variants import Variant, group_runs
from src.terms.claims import Claim, judge_claims
from src.terms.measurements import measure, require_same_data
from src.terms.rows import METRICS, Row, rank_variants
from src.terms.scores import LOWER_IS_BETTER, SCORES
from src.terms.study import DEFAULT_STUDY, load_study, match_pairs

if TYPE_CHECKING:
    from src.terms.added_metrics import AddedMetric

REPEATED = "a later run has the same configuration and seed, and is compared instead"


@dataclass(frozen=True)
class Comparison:
    """The content of the tables and the page."""

    rows: tuple[Row, ...]  # best first
    baseline: Row  # an element of rows
    metric: str  # the compared metric, such as "acc"
    claims: tuple[Claim, ...]
    excluded: tuple[ExcludedRun, ...]  # runs that are not compared
    is_single_run: bool  # whether there is one variant with one seed, so that nothing can be compared
    folds: int  # number of folds; 1 without cross-validation
    texts: int  # number of test texts, in all folds together
    class_names: tuple[str, ...]
    lower_is_better: frozenset[str]  # names of the scores for which lower values are better
    num_tests: int  # number of differences that are tested together
    command: str  # the command line that compares these folders

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants, in the order of the rows."""
        return tuple(row.variant for row in self.rows)


def compare(
    folders: Sequence[Path], baseline: str | None = None, metric: str = "acc", study: Path | None = None
) -> Comparison:
    """Compare all runs below the folders.

    Args:
        baseline: name of the variant to compare with. None selects the variant without attention that has the best
            validation accuracy, or, if all variants have attention, the variant that started first.
        metric: the score to compare: a key of SCORES, or a metric added in the config group `metrics` of the runs.
        study: file with the claims to judge. None selects the claims in DEFAULT_STUDY that concern compared variants.

    Raises:
        UserError: if no run can be compared, the data or test texts of the runs differ, the baseline does not exist,
            the metric does not exist or is not defined on the texts, or the study file is invalid.
    """
    runs, excluded = find_runs(folders)
    scores = [*SCORES, *added_names(runs)]
    if metric not in scores:
        raise UserError(f"--metric {metric}: {no_such('score', nearest(metric, scores))} ({', '.join(scores)})")
    require_same_data(runs)
    added, lower_is_better = {}, set(LOWER_IS_BETTER)
    if metric not in SCORES:
        score = added_metric(runs, metric)
        added[metric] = score.by_group
        if score.is_lower_better:
            lower_is_better.add(metric)
    variants, incomplete = with_complete_folds(group_runs(runs))
    base = _baseline(variants, baseline)
    definitions = [
        claim
        for claim in load_study(study or DEFAULT_STUDY, variants).claims
        if study or match_pairs(variants, claim.variants, claim.against)
    ]
    claim_scores = [claim.metric for claim in definitions if claim.metric in SCORES]
    measurements = measure(variants, metric, (*METRICS, *claim_scores), added)
    samples = {
        name: {measurement.variant.name: measurement.samples[name] for measurement in measurements}
        for name in claim_scores
        if all(name in measurement.samples for measurement in measurements)
    }
    twins = find_twins({measurement.variant.name: measurement.digests for measurement in measurements})
    rows = rank_variants(measurements, base, metric, metric in lower_is_better)
    listed = {run.folder for variant in variants for run in variant.runs} | {run.folder for run in incomplete}
    repeated = [ExcludedRun(run.folder, "repeated", REPEATED) for run in runs if run.folder not in listed]
    is_single_run = sum(len(variant.seeds) for variant in variants) == 1
    return Comparison(
        rows=tuple(rows),
        baseline=next(row for row in rows if row.variant is base),
        metric=metric,
        claims=() if is_single_run else judge_claims(definitions, variants, samples, twins),
        excluded=(*excluded, *incomplete, *repeated),
        is_single_run=is_single_run,
        folds=variants[0].runs[0].folds,
        texts=measurements[0].correct.shape[1],
        class_names=tuple(variants[0].runs[0].predictions().class_names),
        lower_is_better=frozenset(lower_is_better),
        num_tests=sum(row.p_value is not None for row in rows),
        command=_command(folders, baseline, metric, study),
    )


def _command(folders: Sequence[Path], baseline: str | None, metric: str, study: Path | None) -> str:
    """Return the command line of a comparison, without options that have their defaults."""
    options = {"--baseline": baseline, "--metric": None if metric == "acc" else metric, "--study": study}
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return f"python -m src.compare {shlex.join([*words, *map(str, folders)])}"


def _baseline(variants: Sequence[Variant], name: str | None) -> Variant:
    if name is not None:
        for variant in variants:
            if _normalized(variant.name) == _normalized(name):
                return variant
        names = [variant.name for variant in variants]
        similar = [f'"{match}"' for match in nearest(name, names)]
        message = f"--baseline {name}: {no_such('variant', similar)}\nThe variants are:"
        raise UserError("\n  ".join([message, *names]))
    without_attention = [variant for variant in variants if variant.choices.get("attention") == "none"]
    return max(without_attention, key=_validation_accuracy) if without_attention else variants[0]


def _normalized(name: str) -> str:
    """Return a name in lower case without "·", so that "lstm none" means "lstm · none"."""
    return " ".join(name.replace("·", " ").split()).lower()


def _validation_accuracy(variant: Variant) -> float:
    scores = [run.result.score("val/acc") for run in variant.runs]
    return float(np.mean([score for score in scores if score is not None] or [0.0]))


def added_names(runs: Sequence[FinishedRun]) -> list[str]:
    """Return the names of the metrics that the runs' config group `metrics` adds to the default metrics."""
    names = dict.fromkeys(name for run in runs for name in metric_nodes(run.config))
    return [name for name in names if name not in default_metrics()]


def added_metric(runs: Sequence[FinishedRun], name: str) -> "AddedMetric":
    """Create a metric, a class of `torchmetrics.classification`, from its definition in the runs' configurations.

    Raises:
        UserError: if the runs define the metric differently, or it cannot be created.
    """
    from src import build
    from src.terms.added_metrics import AddedMetric  # imports torch

    nodes = [node for run in runs if (node := metric_nodes(run.config).get(name)) is not None]
    if any(node != nodes[0] for node in nodes):
        raise UserError(f"--metric {name}: the runs define it differently; compare runs that use the same definition")
    cfg = OmegaConf.create({"metrics": {name: escape_references(nodes[0])}})
    return AddedMetric(build.metric(cfg, name, len(runs[0].predictions().class_names)))
