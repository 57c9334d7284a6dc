"""The tables of a measurement, independent of the output format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from src.compare.formatting import format_with_margin
from src.compare.sections import Section
from src.faithfulness.claims import judge_claims
from src.faithfulness.names import ACCURACY, ADVERSARIES, AGREEMENT, COLUMNS, RANDOM, SEED_AGREEMENT, Column
from src.faithfulness.rankings import TOLERANCE, is_inexact
from src.faithfulness.summary import Estimate, VariantSummary
from src.formatting import format_count
from src.records.runs import ExcludedRun
from src.reports.tables import UNKNOWN
from src.terms.intervals import Interval
from src.terms.significance import MIN_SEEDS

NOTE = (
    "Means over seeds and texts ± the half-width of their 95 % interval, which accounts for the variation of seeds and "
    "texts, or of texts alone if there is one seed. *: the value differs from that of the random ranking (unadjusted p "
    "below 5 %). Comprehensiveness and sufficiency: the drop in the predicted class's probability without the top 1, "
    "5, 10, 20 and 50 % of the tokens, and with only these tokens; means over the five shares. Normalized: 0 is the "
    "lowest and 1 the highest value that a search over rankings reaches."
)
AGREEMENT_NOTE = (
    "A replication of Jain and Wallace (2019), not a verdict. τ: Kendall's τ between attention and other rankings. "
    "TVD: the total variation distance between the prediction and the prediction with permuted weights (median of 100 "
    "permutations) or uniform weights. JSD: the largest Jensen–Shannon divergence (at most 0.69) between the attention "
    "and other weights that change the prediction by at most 0.01."
)
SEED_NOTE = (
    "Means over pairs of seeds and texts. TVD: the total variation distance between two seeds' class probabilities or "
    "attention weights. Above chance: 1 − TVD / chance TVD, which is the TVD after a random permutation of the texts "
    "(for predictions) or of the tokens (for attention); 1 for equal seeds, 0 for agreement by chance. Only the two "
    "columns of agreement above chance have a common scale."
)
ACCURACY_NOTE = (
    "Tests of Wiegreffe and Pinter (2019). Accuracy on all test texts, and its difference from the accuracy of the "
    "variant with uniform attention and the same other components. Guides are classifiers without context that weight "
    "words uniformly, by the attention of the model, or by weights of their own; their difference is the accuracy with "
    "attention weights minus the accuracy with uniform weights."
)
ADVERSARY_NOTE = (
    "An adversary learns the predictions of the model with other attention weights: it minimizes the total variation "
    "distance (TVD) of the predictions minus λ times the divergence of the weights. JSD: Jensen–Shannon divergence, at "
    "most 0.69. λ = 0 is the reference, because the loss then ignores the weights. Not applicable: the attention does "
    "not have exactly one row of weights for each text, its weights are uniform, or the encoder is pretrained."
)
NOT_APPLICABLE = "not applicable"
CLAIMS_NOTE = (
    "Mean differences over the variants with trained attention, with 95 % intervals. The p-value after Holm's "
    "adjustment for the number of claims decides the verdict, which needs five seeds."
)


@dataclass(frozen=True)
class Report:
    """The content of the tables and the page."""

    summaries: Sequence[VariantSummary]
    texts: int  # number of texts that were measured in every run
    excluded: Sequence[ExcludedRun]
    command: str

    @property
    def is_exploratory(self) -> bool:
        return any(summary.seeds < MIN_SEEDS for summary in self.summaries)


def sections(report: Report) -> list[Section]:
    """Return a table of the rankings for each variant, then the claims, then the tables with a row for each variant."""
    tables = []
    for summary in report.summaries:
        columns = measured_columns([summary])
        if not columns:
            continue
        rows = [
            [ranking, *(format_estimate(summary.measures.get((ranking, column.name))) for column in columns)]
            for ranking in summary.rankings
        ]
        head = ["ranking", *(f"{column.heading} ({column.faithful_values})" for column in columns)]
        tables.append(Section(title_of(report, summary), head, rows, remarks(report, summary)))
    return tables + claim_sections(report) + variant_sections(report)


def claim_sections(report: Report) -> list[Section]:
    """Return the table of claims; an empty list if no claim can be judged."""
    claims = judge_claims(report.summaries)
    columns = 4 if any(claim.remark for claim in claims) else 3
    rows = [list(claim[:columns]) for claim in claims]
    heads = ["claim", "verdict", "difference", "remark"][:columns]
    return [Section("Claims", heads, rows, CLAIMS_NOTE)] if rows else []


def variant_sections(report: Report, margin: bool = True) -> list[Section]:
    """Return the tables of the measures of whole models that were computed; `margin` adds intervals to the values."""
    tables = [
        _by_variant(report, "Agreement of attention", AGREEMENT, AGREEMENT_NOTE, margin),
        _by_variant(report, "Agreement between seeds", SEED_AGREEMENT, SEED_NOTE, margin),
        _by_variant(report, "Accuracy with other weights", ACCURACY, ACCURACY_NOTE, margin),
        _adversaries(report, margin),
    ]
    # a table of accuracy alone contains no result of this measurement
    return [table for table in tables if table.rows and table.head != ["variant", "accuracy"]]


def _by_variant(report: Report, title: str, headings: Mapping[str, str], note: str, margin: bool) -> Section:
    """Return a table with a row for each variant, and the columns that at least one variant has."""
    names = [name for name in headings if any(name in summary.without_ranking for summary in report.summaries)]
    rows = [
        [summary.variant.name, *(format_estimate(summary.without_ranking.get(name), margin) for name in names)]
        for summary in report.summaries
        if names
    ]
    return Section(title, ["variant", *(headings[name] for name in names)], rows, note)


def _adversaries(report: Report, margin: bool) -> Section:
    """Return a table with a row for each adversary of each variant."""
    rows = []
    for summary in report.summaries:
        by_strength = {
            strength: [format_estimate(summary.without_ranking.get(name), margin) for name in names]
            for strength, names in ADVERSARIES.items()
            if any(name in summary.without_ranking for name in names)
        }
        rows += [[summary.variant.name, f"{strength:g}", *cells] for strength, cells in by_strength.items()]
        if not by_strength and any("adversary" in record.options["measures"] for record in summary.records):
            rows.append([summary.variant.name, UNKNOWN, NOT_APPLICABLE, NOT_APPLICABLE])
    return Section("Adversaries", ["variant", "λ", "TVD of predictions", "JSD of attention"], rows, ADVERSARY_NOTE)


def measured_columns(summaries: Sequence[VariantSummary]) -> list[Column]:
    """Return the columns for which at least one variant has values."""
    measured = {name for summary in summaries for _, name in summary.measures}
    return [column for column in COLUMNS if column.name in measured]


def title_of(report: Report, summary: VariantSummary) -> str:
    """Return the name of a variant with its numbers of seeds and texts."""
    return f"{summary.variant.name}: {format_count(summary.seeds, 'seed')}, {format_count(report.texts, 'text')}"


def remarks(report: Report, summary: VariantSummary) -> str:
    """Return sentences about the limitations of a variant's table."""
    parts = []
    if summary.seeds < MIN_SEEDS:
        parts.append(f"Exploratory: fewer than {MIN_SEEDS} seeds.")
    estimate = summary.measures.get((RANDOM, "normalized_comprehensiveness"))
    if estimate is not None and estimate.texts is not None and estimate.texts < report.texts:
        undefined = format_count(report.texts - estimate.texts, "text")
        parts.append(f"Normalized comprehensiveness excludes {undefined} whose lowest and highest values coincide.")
    errors = [is_inexact(record.arrays["integral_error"]).sum() for record in summary.records]
    if inexact := int(max(errors)):
        texts = format_count(inexact, "text")
        parts.append(f"Integrated gradients are inexact by more than {TOLERANCE} for up to {texts} per seed.")
    if skipped := max(record.options["skipped"] for record in summary.records):
        parts.append(f"Omitted for each seed: up to {format_count(skipped, 'text')} without a known token.")
    return " ".join(parts)


def format_estimate(estimate: Estimate | None, margin: bool = True) -> str:
    """Format as "0.412 ± 0.021*", or as "0.412*" without the margin; return UNKNOWN for None."""
    if estimate is None:
        return UNKNOWN
    difference = estimate.against_random
    differs = difference is not None and difference.p_value is not None and difference.p_value < 0.05
    interval = estimate.interval if margin else Interval(estimate.interval.value, None, None)
    return format_with_margin(interval) + "*" * differs
