"""The verdict of a measurement, with which its page and its other files begin."""

from collections import Counter
from collections.abc import Sequence

from heedful.base.formatting import format_count, format_names
from heedful.faithfulness.summary import VariantSummary
from heedful.report.words import UNUSED_NOTE
from heedful.runs.faithfulness_record import ATTENTION, RANDOM, WITHOUT_ATTENTION, Column
from heedful.terms.intervals import LEVEL, MIN_SEEDS, holm

# the verdict and the chart are about the first of these measures that was computed
MAIN_MEASURES = ("normalized_comprehensiveness", "comprehensiveness_removal")


def main_column(summaries: Sequence[VariantSummary]) -> Column | None:
    """Return the column of the main measure; None if it was not computed."""
    measured = {column.name: column for summary in summaries for column in summary.columns}
    return next((measured[name] for name in MAIN_MEASURES if name in measured), None)


def trained_attention(summaries: Sequence[VariantSummary]) -> list[VariantSummary]:
    attentive = [summary for summary in summaries if summary.variant.choices.get("attention") not in WITHOUT_ATTENTION]
    return [summary for summary in attentive if not summary.variant.has_unused_network]


def faithfulness_verdict(summaries: Sequence[VariantSummary]) -> str:
    """Return what is shown of trained attention, and which variants do not use their network."""
    sentences = [_compare_with_random(summaries)]
    if unused := [summary.variant.name for summary in summaries if summary.variant.has_unused_network]:
        sentences.append(f"{UNUSED_NOTE} of {format_names(unused)}, where attention explains nothing.")
    return " ".join(filter(None, sentences))


def _compare_with_random(summaries: Sequence[VariantSummary]) -> str:
    """Return a sentence that compares trained attention with the random ranking, and one about the best ranking.

    The text is "" without trained attention, or if the main measure was not computed. Differences are significant if p
    is below 5 % after Holm's adjustment for all variants; with fewer than 5 seeds, the sentence is about the means.
    """
    column = main_column(summaries)
    if column is None:
        return ""
    measured = []  # variant, mean of attention, mean of the random ranking, difference
    for summary in trained_attention(summaries):
        found, random = (summary.measures.get((ranking, column.name)) for ranking in (ATTENTION, RANDOM))
        if found is not None and random is not None and found.against_random is not None:
            measured.append((summary, found.interval.value, random.interval.value, found.against_random))
    if not measured:
        return ""
    attentive, values, of_random, differences = zip(*measured, strict=True)
    is_exploratory, count = any(summary.seeds < MIN_SEEDS for summary in attentive), len(attentive)
    p_values = holm([difference.p_value for difference in differences])
    shown = [
        difference.value
        for difference, p in zip(differences, p_values, strict=True)
        if is_exploratory or (p is not None and p < LEVEL)
    ]
    more, less = sum(value > 0 for value in shown), sum(value < 0 for value in shown)
    adverb = "" if is_exploratory else "significantly "
    also = f", and {adverb}less faithful in {less}" if less else ""
    best = Counter(max(summary.rankings, key=lambda name: _value(summary, name, column)) for summary in attentive)
    ((name, frequency),) = best.most_common(1)
    return (
        f"{f'Exploratory, with fewer than {MIN_SEEDS} seeds. ' if is_exploratory else ''}Attention is {adverb}more "
        f"faithful than a random ranking in {more} of {format_count(count, 'variant')}{also}: {column.heading} "
        f"{_range(values)}, against {_range(of_random)}. The most faithful ranking"
        f"{'' if frequency == count else f' in {frequency} of {count} variants'} is {name}."
    )


def _value(summary: VariantSummary, ranking: str, column: Column) -> float:
    estimate = summary.measures.get((ranking, column.name))
    return float("-inf") if estimate is None else estimate.interval.value


def _range(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(f"{end:.3f}" for end in (min(values), max(values))))
