"""The verdict of a comparison, with which its page and its other files begin."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from heedful.base.formatting import capitalize, format_count, format_names
from heedful.records.cost import Cost
from heedful.report.numbers import format_compact
from heedful.report.verdict import LINEAR_MODEL, as_gain, comparative, describe_gain, describe_score, format_sizes
from heedful.report.words import UNUSED_NOTE
from heedful.tasks.stored import scores_of
from heedful.terms.comparison import Comparison, Row, Verdict
from heedful.terms.intervals import MIN_SEEDS, Interval

LINEAR = f"the {LINEAR_MODEL}"
UNCHECKED = "whether {name} saw these texts in training"


class Advice(NamedTuple):
    """What to do, what it costs, and the variant to take; "" and None if there is nothing to say."""

    answer: str = ""
    cost: str = ""
    row: Row | None = None


class Judged(NamedTuple):
    """A variant with its difference from a reference."""

    name: str
    gain: Interval  # positive if the variant is better
    verdict: Verdict


def comparison_verdict(comparison: Comparison) -> str:
    """Return the findings, after them the advice, and what restricts both."""
    answer, cost, _ = advise(comparison)
    advice = "; ".join(part for part in (answer, cost) if part)
    return ". ".join(part for part in (*findings(comparison), advice, *remarks(comparison)) if part) + "."


def findings(comparison: Comparison) -> list[str]:
    """Return a sentence about the differences from the baseline, and one about those from the linear model.

    For a single variant, the sentence states its score and its difference from the linear model. If no difference is
    tested, the sentences are about means, and the reason is stated first.
    """
    rows, metric, lower = comparison.rows, comparison.metric, comparison.lower_is_better
    of_baseline = [Judged(r.variant.name, _gain(r, comparison), r.verdict) for r in rows if r.difference]
    of_linear = [
        Judged(r.variant.name, as_gain(r.gain, lower), r.gain_verdict) for r in rows if r.gain and r.gain_verdict
    ]
    judged, sentences, is_tested = of_baseline + of_linear, [], _is_tested(comparison)
    if judged and not is_tested:
        is_exploratory = all(row.verdict == "exploratory" for row in judged)
        sentences.append(
            f"Exploratory, with fewer than {MIN_SEEDS} seeds" if is_exploratory else "No difference is tested"
        )
        of_baseline, of_linear = (
            [row._replace(verdict="exploratory") for row in of] for of in (of_baseline, of_linear)
        )
    if len(rows) == 1:
        seeds = len(rows[0].variant.seeds)
        scored = scores_of(comparison.table)
        score = describe_score(metric, rows[0].metrics[metric].value, comparison.texts, scored)
        score += f" (mean of {seeds} seeds)" if seeds > 1 else ""
        name, texts = "the mean" if seeds > 1 else "this model", comparison.texts
        gains = (describe_gain(row.gain, name, LINEAR, row.verdict, metric, texts) for row in of_linear)
        sentence = "; ".join([score, *gains])
        sentences.append(capitalize(sentence))
    else:
        baseline = f"the baseline {comparison.baseline.variant.name}"
        texts = comparison.texts
        sentences.append(_summarize(of_baseline, baseline, "other variant", metric, is_tested, texts))
        sentences += [_summarize(of_linear, LINEAR, "variant", metric, is_tested, texts)] if of_linear else []
    return sentences


def remarks(comparison: Comparison) -> list[str]:
    """Return which variants are one model, are not judged, or of other programs, and may have seen the texts."""
    sentences = [
        f"{', '.join(names)} and {last} are one model: their predictions are equal" for *names, last in comparison.equal
    ]
    if unused := [variant.name for variant in comparison.trained if variant.has_unused_network]:
        sentences.append(f"{UNUSED_NOTE} of {format_names(unused)}")
    if _is_tested(comparison) and (few := [row.variant.name for row in with_few_seeds(comparison.rows)]):
        best = advise(comparison).row
        better = takewhile(lambda row: row is not best, comparison.rows if best else ())
        ahead = format_names(row.variant.name for row in with_few_seeds(better))
        lead = f"; ahead on average: {ahead}" if ahead else ""
        sentences.append(f"Not judged, with fewer than {MIN_SEEDS} seeds: {format_names(few)}{lead}")
    if _is_tested(comparison):
        reference, texts = f"the baseline {comparison.baseline.variant.name}", comparison.texts
        for row in (row for row in comparison.rows if row.variant.outside):
            gain, name = _gain(row, comparison), row.variant.name
            sentences.append(describe_gain(gain, name, reference, "exploratory", comparison.metric, texts))
    if unchecked := [row.variant.name for row in comparison.rows if not row.variant.is_checked]:
        sentences.append(f"Not checked: {UNCHECKED.format(name=format_names(unchecked))}")
    return sentences


def with_few_seeds(rows: Iterable[Row]) -> list[Row]:
    """Return the variants that need more seeds for a verdict."""
    return [row for row in rows if len(row.variant.seeds) < MIN_SEEDS and not row.variant.outside]


def _is_tested(comparison: Comparison) -> bool:
    pairs = [pair for row in comparison.rows for pair in ((row.difference, row.verdict), (row.gain, row.gain_verdict))]
    return any(gain and gain.p_value is not None and verdict != "exploratory" for gain, verdict in pairs)


def has_linear(comparison: Comparison) -> bool:
    """Return whether all variants of runs have a linear model, which then is what they are measured against."""
    return all(row.gain_verdict for row in comparison.rows if not row.variant.outside)


def advise(comparison: Comparison) -> Advice:
    """Return which of several variants to take, and what it costs: one that is shown to be better than the linear
    model or, without one, than the baseline; nothing if differences have no test for another reason than too few
    seeds. A model of another program, which has no seeds, is taken if all of the interval of its difference from the
    baseline is above the mean of what would be taken or kept.
    """
    rows, base, metric = comparison.rows, comparison.baseline, comparison.metric
    if len(rows) == 1:
        return Advice()
    if not _is_tested(comparison):
        few = with_few_seeds(rows)
        return Advice(f"Too early to choose: train {MIN_SEEDS} seeds of each variant" if few else "")
    is_linear = has_linear(comparison)
    shown = [row for row in rows if (row.gain_verdict if is_linear else row.verdict) == "better"]
    best = next((row for row in shown if row.verdict == "better"), base if base in shown else next(iter(shown), None))
    least = _gain(best or base, comparison).value
    if best is None and is_linear and base.linear:
        least = as_gain(Interval(base.linear.value - base.metrics[metric].value), comparison.lower_is_better).value
    for row in rows:
        low = _gain(row, comparison).low if row.variant.outside and row.variant.is_checked else None
        if low is not None and low > least:
            return Advice(f"Take {row.variant.name}", "it is not known what it costs", row)
    if best is None:
        kept = LINEAR if is_linear else base.variant.name
        return Advice(f"Keep {kept}: no {'variant' if is_linear else 'other variant'} is shown to be better")
    other = Cost() if best is base else base.cost
    return Advice(f"Take {best.variant.name}", _describe_cost(best.cost, base.variant.name, other), best)


def _gain(row: Row, comparison: Comparison) -> Interval:
    """Return the difference from the baseline, positive if the variant is better."""
    return as_gain(row.difference or Interval(0.0), comparison.lower_is_better)


def _describe_cost(cost: Cost, name: str, other: Cost) -> str:
    """Return a clause with the costs beside those of the variant `name`: "it needs 2 ms a text (none: 1)"."""
    pairs = [(cost.use, other.use, "ms a text"), (cost.training, other.training, "s of training")]
    known = [(value, before, unit) for value, before, unit in pairs if value is not None]
    parts = " and ".join(f"{format_compact(value)} {unit}" for value, _, unit in known)
    others = " and ".join(format_compact(before) for _, before, _ in known if before is not None)
    return (f"it needs {parts}" if parts else "") + (f" ({name}: {others})" if others else "")


def _summarize(judged: Sequence[Judged], reference: str, noun: str, metric: str, is_tested: bool, texts: int) -> str:
    """Return a sentence about the differences of variants, the best first, from a reference.

    The sentence is about significant differences if differences are tested, and otherwise about means.
    """
    if len(judged) == 1:
        return describe_gain(judged[0].gain, judged[0].name, reference, judged[0].verdict, metric, texts)
    better = [row for row in judged if (row.verdict == "better" if is_tested else row.gain.value > 0)]
    worse = [row for row in judged if (row.verdict == "worse" if is_tested else row.gain.value < 0)]
    adverb, total = "significantly " if is_tested else "on average ", len(judged)
    better_than = f"{comparative('better', metric)} than {reference}"
    if len(worse) == total:
        sizes = format_sizes([row.gain.value for row in worse], metric)
        everything = "both" if total == 2 else f"all {total}"
        return f"No {noun} is {'' if is_tested else adverb}{better_than}; {everything} are {adverb}worse, by {sizes}"
    if better:
        best, others = better[0], format_count(total - 1, "other")
        sentence = describe_gain(best.gain, best.name, reference, best.verdict, metric, texts)
    elif worse:
        sentence, others = f"No {noun} is {adverb}{better_than}", str(total)
    else:
        return f"No {noun} {comparative(f'differs {adverb}'.rstrip(), metric)} from {reference}"
    counts = ((len(better) - 1, "better"), (len(worse), "worse"))
    subject = "the other is" if better and total == 2 else None
    return "; ".join([sentence, *(f"{subject or f'{n} of {others}'} {adverb}{word}" for n, word in counts if n > 0)])
