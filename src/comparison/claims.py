"""Judge the claims of a study by the evidence of the compared runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
from src.comparison.formatting import format_difference, format_p_value
from src.comparison.statistics import LEVEL, MIN_SEEDS, holm
from src.comparison.study import ClaimDefinition, choice_of
from src.comparison.twins import Twins, twin_names
from src.comparison.two_level_bootstrap import Difference
from src.comparison.variants import Variant
from src.comparison.verdicts import ClaimVerdict, claim_verdict


@dataclass(frozen=True)
class Claim:
    """A claim and its verdict."""

    text: str  # such as "Attention beats no attention"
    source: str  # the document that makes the claim
    verdict: ClaimVerdict
    numbers: str  # one line, such as "+1.20 (+0.40 to +2.00) points of accuracy; p 0.010 after Holm", or ""
    # lines: the reasons for an inconclusive verdict, if any, then the difference of each pair or from each rival
    evidence: tuple[str, ...]
    merged: tuple[str, ...] = ()  # lines about variants that count as one because their predictions are identical


class ClaimTest(NamedTuple):
    """A claim and the evidence about it, not yet adjusted for the number of claims."""

    text: str
    definition: ClaimDefinition
    evidence: Evidence | NoEvidence


def judge_claims(
    definitions: Sequence[ClaimDefinition], variants: Sequence[Variant], scores: Samples, twins: Twins
) -> tuple[Claim, ...]:
    """Judge each claim by the mean difference over pairs of variants that differ only in the components of the claim.

    If the claim is decided by the strongest rival, the mean is taken over the pairs with this rival. Pairs that
    differ only by twins (variants with identical predictions) count once. Pairs with fewer than 5 seeds are excluded if
    other pairs have enough seeds. Two methods, each with a family-wise error rate of 5 %, are applied to the m claims
    that can be tested. Holm's test decides whether the mean differs from zero (p below 5 % after the adjustment).
    Bonferroni's simultaneous intervals, which have a confidence level of 1 - 5 %/m each, estimate the mean. Holm's test
    is more powerful: if it rejects zero but the interval contains zero, the interval is truncated at zero. The verdict
    is the first in this list that applies:

    - inconclusive: the claim has no evidence, or a variant in a pair that is not excluded has fewer than 5 seeds.
    - not supported: the mean is significantly below zero.
    - inconclusive: the mean is significantly above zero, but a single pair is significantly below zero by Holm's
      test over the claim's pairs. This rule does not apply if the strongest rival decides.
    - real but negligible: the mean is significantly above zero, and its interval ends below the negligible size.
    - supported: the mean is significantly above zero.
    - not supported: the interval ends below the negligible size.
    - inconclusive: all other cases.

    If `also_for_each` names a component with several choices, one claim for each choice follows the claim. The claims
    that a definition adds in this way are tested together at 5 %, and do not change the adjustment of the other claims.

    Args:
        scores: samples of each metric that is defined on the test texts.
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
    """Return the pairs by choice of the component `also_for_each`; {} without this component or with a single choice.

    Choices whose pairs are twins share an entry.
    """
    component = definition.also_for_each
    if component is None:
        return {}
    by_choice: dict[str, list[Pair]] = {}
    for pair in pairs[ALL_RIVALS]:
        by_choice.setdefault(str(choice_of(pair[0], component)), []).append(pair)
    names: dict[frozenset[tuple[str, ...]], list[str]] = {}
    for choice, of_choice in by_choice.items():
        names.setdefault(frozenset(twin_names(pair, twins) for pair in of_choice), []).append(choice)
    if len(names) < 2:
        return {}
    return {
        ", ".join(same): {ALL_RIVALS: [pair for name in same for pair in by_choice[name]]} for same in names.values()
    }


def _judge_together(tests: Sequence[ClaimTest]) -> list[Claim]:
    """Judge a family of claims with a family-wise error rate of 5 %."""
    p_values = {
        index: p_value
        for index, test in enumerate(tests)
        if isinstance(test.evidence, Evidence) and (p_value := test.evidence.difference(LEVEL).p_value) is not None
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return [_judge(test, adjusted.get(index), len(p_values)) for index, test in enumerate(tests)]


def _judge(test: ClaimTest, p_value: float | None, num_tests: int) -> Claim:
    """Judge a claim.

    Args:
        p_value: p-value after Holm's adjustment; None if the claim cannot be tested.
        num_tests: number of claims in the family that can be tested.
    """
    text, definition, evidence = test
    if isinstance(evidence, NoEvidence):
        return Claim(text, definition.source, "inconclusive", "", (evidence.reason,))
    significant = p_value is not None and p_value < LEVEL
    difference = evidence.difference(LEVEL / max(1, num_tests))
    value, low, high, own_p_value = difference
    if significant and low is not None and high is not None:
        # Holm's test rejects zero, but Bonferroni's wider interval may contain zero
        low, high = (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))
        difference = Difference(value, low, high, own_p_value)
    reasons = []
    if evidence.seeds < MIN_SEEDS:
        seeds = f"{evidence.seeds} seed{'s' * (evidence.seeds > 1)}"
        reasons = [f"at least one variant has only {seeds}: a verdict needs {MIN_SEEDS}"]
    elif significant and value > 0 and evidence.contradicting_pairs:
        reasons = [f"true on average, but not for {evidence.contradicting_pairs}"]
    verdict = "inconclusive" if reasons else claim_verdict(difference, significant, definition.negligible)
    numbers = format_difference(definition, difference)
    if evidence.rivals:
        numbers += f" against {evidence.rivals[0]}, the strongest rival"
    if p_value is not None:
        numbers += f"; p {format_p_value(p_value)} after Holm"
    return Claim(text, definition.source, verdict, numbers, (*reasons, *evidence.pair_lines), evidence.merged)
