"""Render a comparison as one self-contained web page."""

import numpy as np

from src.compare.formatting import claim_lines, heading, label
from src.compare.page.cost import cost
from src.compare.page.facts import facts, title
from src.compare.page.grid import grid
from src.compare.page.ranking import differences, numbers, ranking, score_names
from src.compare.page.texts import shared_texts
from src.compare.sections import FOLDS, RULES
from src.formatting import format_count
from src.records.files import read_history, read_or_warn
from src.reports.page.confusion import Confusion, confusion
from src.reports.page.curves import SCORES, CurveChart, variant_curves
from src.reports.page.document import render_page
from src.terms.comparison import Comparison
from src.terms.evaluation import confusion_matrix
from src.terms.significance import MIN_SEEDS


def render(comparison: Comparison) -> str:
    """Render the HTML page without sections that have no content, such as the differences of a single variant."""
    return render_page(
        "comparison.html.j2",
        comparison=comparison,
        title=title(comparison),
        runs=format_count(sum(len(variant.runs) for variant in comparison.variants), "run"),
        score=f"{label(comparison.metric)} on {format_count(comparison.texts, 'test text')}",
        facts=facts(comparison),
        ranking=ranking(comparison),
        numbers=numbers(comparison),
        score_names={name: heading(name) for name in score_names(comparison)},
        differences=differences(comparison),
        claims=comparison.claims,
        claim_lines=claim_lines,
        grid=grid(comparison),
        cost=cost(comparison),
        curves=_curves(comparison),
        shared=shared_texts(comparison),
        confusions=_confusions(comparison),
        heading=heading,
        count=format_count,
        rules=RULES,
        folds_note=FOLDS.format(folds=comparison.folds) if comparison.folds > 1 else "",
        min_seeds=MIN_SEEDS,
    )


def _curves(comparison: Comparison) -> dict[str, dict[str, str] | dict[str, list[CurveChart]]] | None:
    """Return the names of the scores, and a chart of each variant for each score; None if no run has curves."""
    variants = []
    for variant in comparison.variants:
        histories = [history for run in variant.runs if (history := read_or_warn(read_history, run.folder))]
        variants.append((variant.name, histories))
    charts = variant_curves(variants)
    return {"names": {score: SCORES[score][0] for score in charts}, "charts": charts} if charts else None


def _confusions(comparison: Comparison) -> list[Confusion]:
    """Return the confusion matrix of each variant, summed over its runs."""
    tables = []
    for variant in comparison.variants:
        predictions = [run.predictions() for run in variant.runs]
        counts = np.sum([confusion_matrix(run.probabilities, run.labels) for run in predictions], axis=0)
        caption = f"{variant.name}, {format_count(len(variant.seeds), 'seed')}"
        tables.append(confusion(counts, comparison.class_names, caption))
    return tables
