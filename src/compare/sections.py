"""The tables of a comparison, independent of the output format."""

from collections.abc import Sequence
from typing import NamedTuple

from src.compare.formatting import format_p_value, format_with_margin, label
from src.reports.page.formatting import format_score
from src.reports.tables import UNKNOWN
from src.terms.comparison import Comparison
from src.terms.measurements import FAITHFULNESS
from src.terms.rows import METRICS
from src.terms.significance import MIN_SEEDS

SCORES = (
    "Mean over seeds on these {texts:,} test texts ± the half-width of the 95 % interval for the mean over all "
    "possible seeds (Student's t). For calibration error, negative log-likelihood and Brier score, lower is "
    "better. ensemble: {metric} of the probabilities averaged over seeds."
)
DIFFERENCES = (
    "Difference from the baseline ± the half-width of its 95 % interval over seeds and texts (Student's t). The "
    "interval and the first p are unadjusted; the second p is adjusted (Holm) for all {num_tests} differences of the "
    "table, and decides the verdict. McNemar: for k of n seeds, the exact test finds a significant difference of the "
    "same sign (p below 5 %). Exploratory: fewer than {min_seeds} seeds."
)
FOLDS = (
    "Cross-validation: {folds} folds per seed. Each text is predicted by the run whose test split contains it, and a "
    "score is computed over the texts of all folds. The intervals of differences account for the overlap of the "
    "training sets (Nadeau and Bengio 2003)."
)
COST = (
    "Seconds: training time of an epoch without validation; median over epochs, then mean over seeds. Memory: the "
    "maximum over runs of the memory of the CUDA device or, without one, of the process."
)
RULES = (
    "Supported: the effect is significant (p below 5 % after Holm's adjustment for all claims), and no single pair of "
    "variants shows a significant opposite effect. Real but negligible: supported, except that the interval ends below "
    "the study's negligible size (half a point of accuracy in the twenty-model study). Not supported: the opposite "
    "effect is significant, or the effect is not significant and its interval ends below that size. Inconclusive: all "
    "other cases. The intervals of claims are simultaneous 95 % intervals; those of single pairs are unadjusted."
)
FAITHFULNESS_NOTE = (
    "From the records of `python -m src.faithfulness`, mean over seeds ± the half-width of the 95 % interval "
    "(Student's t). Normalized comprehensiveness: 0 is the lowest and 1 the highest value that a ranking can reach."
)


class Section(NamedTuple):
    """A table with its title and note; the first column is text."""

    title: str
    head: Sequence[str]
    rows: list[list[str]]
    note: str


def sections(comparison: Comparison) -> list[Section]:
    """Return the tables of scores, differences, cost and faithfulness that have rows; the best variant is first."""
    tables = [_scores(comparison), _differences(comparison), _cost(comparison), _faithfulness(comparison)]
    return [table for table in tables if table.rows]


def _scores(comparison: Comparison) -> Section:
    names = list(dict.fromkeys((comparison.metric, *METRICS)))
    rows = [
        [
            f"{row.variant.name} (baseline)" if row.verdict == "baseline" else row.variant.name,
            str(row.seeds),
            *(format_with_margin(row.metrics.get(name)) for name in names),
            format_score(row.ensemble),
        ]
        for row in comparison.rows
    ]
    note = SCORES.format(texts=comparison.texts, metric=label(comparison.metric))
    if comparison.folds > 1:
        note = f"{note} {FOLDS.format(folds=comparison.folds)}"
    return Section("Scores", ["variant", "seeds", *map(label, names), "ensemble"], rows, note)


def _differences(comparison: Comparison) -> Section:
    title = f"Differences in {label(comparison.metric)} from {comparison.baseline.variant.name}"
    rows = [
        [
            row.variant.name,
            format_with_margin(row.difference, 4, "+"),
            format_p_value(row.p_value),
            format_p_value(row.p_adjusted),
            UNKNOWN if row.mcnemar is None else f"{row.mcnemar[0]} of {row.mcnemar[1]}",
            row.verdict,
        ]
        for row in comparison.rows
        if row is not comparison.baseline
    ]
    head = ["variant", "difference", "p", "p, Holm", "McNemar", "verdict"]
    return Section(title, head, rows, DIFFERENCES.format(num_tests=comparison.num_tests, min_seeds=MIN_SEEDS))


def _cost(comparison: Comparison) -> Section:
    rows = [
        [
            row.variant.name,
            f"{row.parameters:,}",
            format_with_margin(row.seconds_per_epoch, 2),
            UNKNOWN if row.peak_memory_mb is None else f"{row.peak_memory_mb:,.0f}",
        ]
        for row in comparison.rows
    ]
    return Section("Cost", ["variant", "parameters", "seconds per epoch", "peak memory, MB"], rows, COST)


def _faithfulness(comparison: Comparison) -> Section:
    rows = [
        [row.variant.name, *(format_with_margin(row.faithfulness.get(name)) for name in FAITHFULNESS)]
        for row in comparison.rows
        if row.faithfulness
    ]
    return Section("Faithfulness", ["variant", *map(label, FAITHFULNESS)], rows, FAITHFULNESS_NOTE)
