"""What a comparison's tables say, whatever they are written in."""

from collections.abc import Sequence
from typing import NamedTuple

from src.comparison.comparison import Comparison
from src.comparison.numbers import chance, with_margin
from src.comparison.rows import METRICS, Row
from src.reports.page.formatting import format_score
from src.reports.tables import UNKNOWN

SCORES = (
    "Mean over seeds ± half of the 95 % interval of the mean over all seeds (Student's t), on these {texts:,} test "
    "texts. ece: calibration error, lower is better. ensemble: {metric} of the mean of the seeds' probabilities."
)
DIFFERENCES = (
    "Difference to the baseline ± half of its 95 % interval, from a two-level bootstrap (seeds × texts) with "
    "Student's t, unadjusted; p by the same, then after Holm's adjustment for all {family} differences here, by which "
    "the verdict goes. McNemar: in k of n seeds the exact test finds that difference at 5 %. tie: not shown to differ; "
    "exploratory: fewer than 5 seeds."
)
COST = (
    "Seconds: of an epoch's training without validation, median of a run, mean over seeds. Memory: the highest of the "
    "runs; the accelerator's where there is one, else the process's."
)
RULES = (
    "Supported: the claim is shown (p after Holm's adjustment for all claims is below 5 %), and no pair of variants "
    "shows the opposite. Real but negligible: the same, but the gain is surely below half a point of accuracy. Not "
    "supported: the opposite is shown, or a gain that is not shown is surely below half a point. Inconclusive: all "
    "else. The claims' intervals are simultaneous 95 % intervals; those of single pairs are unadjusted."
)


class Section(NamedTuple):
    """One table; the first column is text, the others numbers."""

    title: str
    head: Sequence[str]
    rows: list[list[str]]
    note: str


def sections(comparison: Comparison) -> list[Section]:
    """Scores, differences and cost by variant, best first."""
    others = [row for row in comparison.rows if row is not comparison.baseline]
    found = [_scores(comparison), _differences(comparison, others), _cost(comparison)]
    return [section for section in found if section.rows]


def _scores(comparison: Comparison) -> Section:
    names = list(dict.fromkeys((comparison.metric, *METRICS)))
    rows = [
        [
            _name(row),
            str(row.seeds),
            *(with_margin(row.metrics.get(name)) for name in names),
            format_score(row.ensemble),
        ]
        for row in comparison.rows
    ]
    note = SCORES.format(texts=comparison.texts, metric=comparison.metric)
    return Section("Scores", ["variant", "seeds", *names, "ensemble"], rows, note)


def _name(row: Row) -> str:
    return f"{row.variant.name} (baseline)" if row.verdict == "baseline" else row.variant.name


def _differences(comparison: Comparison, others: Sequence[Row]) -> Section:
    title = f"Differences in {comparison.metric} to {comparison.baseline.variant.name}"
    rows = [
        [
            row.variant.name,
            with_margin(row.difference, 4, "+"),
            chance(row.p_value),
            chance(row.p_adjusted),
            UNKNOWN if row.mcnemar is None else f"{row.mcnemar[0]} of {row.mcnemar[1]}",
            row.verdict,
        ]
        for row in others
    ]
    head = ["variant", "difference", "p", "p, Holm", "McNemar", "verdict"]
    return Section(title, head, rows, DIFFERENCES.format(family=comparison.family))


def _cost(comparison: Comparison) -> Section:
    rows = [
        [
            row.variant.name,
            f"{row.parameters:,}",
            with_margin(row.seconds_per_epoch, 2),
            UNKNOWN if row.peak_memory_mb is None else f"{row.peak_memory_mb:,.0f}",
        ]
        for row in comparison.rows
    ]
    return Section("Cost", ["variant", "parameters", "seconds an epoch", "peak memory, MB"], rows, COST)
