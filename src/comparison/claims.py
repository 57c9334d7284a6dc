"""Judge the claims of a study by the evidence of the compared runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from src.comparison.evidence import (
    ALL_RIVALS,
    Evidence,
    NoEvidence,
    Pair,
    PairsByRival,
    Samples,
    gather_evidence,
    match_pairs_by_rival,
)
from src.comparison.formatting import format_p_value
from src.comparison.statistics import LEVEL, MIN_SEEDS, holm
from src.comparison.study import ClaimDefinition, choice_of
from src.comparison.twins import Twins, twin_names
from src.comparison.two_level_bootstrap import Difference
from src.comparison.variants import Variant

NO_TWINS: Twins = {}
Verdict = Literal["supported", "real but negligible", "not supported", "inconclusive"]


@dataclass(frozen=True)
class Claim:
    """A claim and its verdict."""

    text: str  # such as "Attention beats no attention"
    source: str  # the document that makes the claim
    verdict: Verdict
    numbers: str  # one line, such as "+1.20 (+0.40 to +2.00) points of accuracy; p 0.010 after Holm", or ""
    evidence: tuple[str, ...]  # lines: reasons for an inconclusive verdict, if any, and the differences of the pairs
    merged: tuple[str, ...] = ()  # lines about variants that count once because their predictions are identical


class ClaimTest(NamedTuple):
    """A claim and its evidence, before the adjustment for the number of claims."""

    text: str
    definition: ClaimDefinition
    evidence: Evidence | NoEvidence


def judge_claims(
    definitions: Sequence[ClaimDefinition], variants: Sequence[Variant], scores: Samples, twins: Twins = NO_TWINS
) -> tuple[Claim, ...]:
    """Judge each claim by the mean difference over the pairs of variants that differ only in the claim's components.

    Pairs of twins (variants with identical predictions) count once. Two methods are applied to the m claims with
    evidence, each with a family-wise error rate of 5 %. Holm's test decides whether the mean differs from zero (p
    below 5 % after the adjustment). Simultaneous intervals (Bonferroni's, each with a confidence level of 1 - 5 %/m)
    estimate the mean. Holm's test is the more powerful; if it excludes a zero that the interval contains, the interval
    is cut at zero. The verdict is the first in this list that applies:

    - inconclusive: a variant has fewer than 5 seeds, or the necessary variants or files are missing.
    - not supported: the mean is significantly below zero.
    - inconclusive: the mean is significantly above zero, but a single pair is significantly below zero (Holm's test
      over the claim's pairs).
    - real but negligible: the mean is significantly above zero, and its interval ends below the negligible size.
    - supported: the mean is significantly above zero.
    - not supported: the interval ends below the negligible size.
    - inconclusive: all other cases.

    A claim that is also judged for each choice of a component is followed by one claim for each choice. The claims
    about the choices are tested together at 5 %, and do not change the adjustment of the other claims.

    Args:
        scores: samples of the claims' metrics; metrics that are not defined on the test texts are omitted.
        twins: result of `find_twins`.
    """
    averages: list[ClaimTest] = []
    by_choice: list[list[ClaimTest]] = []
    for definition in definitions:
        tests = []
        pairs = match_pairs_by_rival(definition, variants)
        if isinstance(pairs, NoEvidence):
            averages.append(ClaimTest(definition.claim, definition, pairs))
        else:
            evidence = gather_evidence(definition, pairs, scores, twins)
            averages.append(ClaimTest(definition.claim, definition, evidence))
            for name, of_choice in _split_by_choice(definition, pairs, twins).items():
                evidence = gather_evidence(definition, of_choice, scores, twins)
                tests.append(ClaimTest(f"{definition.claim}: {name}", definition, evidence))
        by_choice.append(tests)
    judged = zip(_judge_together(averages), map(_judge_together, by_choice), strict=True)
    return tuple(claim for average, of_choices in judged for claim in (average, *of_choices))


def _split_by_choice(definition: ClaimDefinition, pairs: PairsByRival, twins: Twins) -> dict[str, PairsByRival]:
    """Return the pairs by choice of the component `also_for_each`; {} if it is None or has only one choice.

    Choices whose pairs are twins share an entry.
    """
    by_choice: dict[str, list[Pair]] = {}
    for pair in pairs[ALL_RIVALS] if definition.also_for_each else ():
        by_choice.setdefault(str(choice_of(pair[0], definition.also_for_each)), []).append(pair)
    names: dict[frozenset[tuple[str, ...]], list[str]] = {}
    for choice, of_choice in by_choice.items():
        names.setdefault(frozenset(twin_names(pair, twins) for pair in of_choice), []).append(choice)
    if len(names) < 2:
        return {}
    return {
        ", ".join(same): {ALL_RIVALS: [pair for name in same for pair in by_choice[name]]} for same in names.values()
    }


def _judge_together(tests: Sequence[ClaimTest]) -> list[Claim]:
    """Judge claims with a joint family-wise error rate of 5 %."""
    p_values = {
        index: p_value
        for index, test in enumerate(tests)
        if isinstance(test.evidence, Evidence) and (p_value := test.evidence.difference(LEVEL).p_value) is not None
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return [_judge(test, adjusted.get(index), len(p_values)) for index, test in enumerate(tests)]


def _judge(test: ClaimTest, p_value: float | None, num_tests: int) -> Claim:
    """Judge one of `num_tests` claims.

    Args:
        p_value: after Holm's adjustment; None if the claim has no test.
    """
    text, definition, evidence = test
    if isinstance(evidence, NoEvidence):
        return Claim(text, definition.source, "inconclusive", "", (evidence.reason,))
    significant = p_value is not None and p_value < LEVEL
    difference = evidence.difference(LEVEL / max(1, num_tests))
    value, low, high, unadjusted = difference
    if significant and low is not None and high is not None:
        # Holm's test excludes zero; Bonferroni's wider interval may include it
        low, high = (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))
        difference = Difference(value, low, high, unadjusted)
    reasons = []
    if evidence.seeds < MIN_SEEDS:
        seeds = f"{evidence.seeds} seed{'s' * (evidence.seeds > 1)}"
        reasons = [f"at least one variant has only {seeds}: a verdict needs {MIN_SEEDS}"]
    elif significant and value > 0 and evidence.contradicting_pairs:
        reasons = [f"true on average, but not for {evidence.contradicting_pairs}"]
    verdict = "inconclusive" if reasons else _claim_verdict(difference, significant, definition.negligible)
    numbers = evidence.format(difference)
    if p_value is not None:
        numbers += f"; p {format_p_value(p_value)} after Holm"
    return Claim(text, definition.source, verdict, numbers, (*reasons, *evidence.pair_lines), evidence.merged)


def _claim_verdict(difference: Difference, significant: bool, negligible: float | None) -> Verdict:
    """Return the verdict that follows from the simultaneous interval and Holm's test."""
    if significant and difference.value < 0:
        return "not supported"
    is_negligible = negligible is not None and difference.high is not None and difference.high < negligible
    if significant:
        return "real but negligible" if is_negligible else "supported"
    return "not supported" if is_negligible else "inconclusive"
