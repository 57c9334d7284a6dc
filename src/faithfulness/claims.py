"""Claims that compare rankings or seeds of a variant, with verdicts; claims that compare variants are in studies/."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from src.faithfulness import seeds
from src.faithfulness.summary import VariantSummary, stack
from src.formatting import format_names, format_p_value
from src.records.faithfulness_names import ATTENTION, ATTENTION_GRADIENT, RANDOM, UNIFORM, WITHOUT_ATTENTION
from src.terms.intervals import LEVEL, MIN_SEEDS, Difference, Sample, estimate, holm

NORMALIZED = "normalized_comprehensiveness"
FAITHFUL, ABOVE_CHANCE = "normalized comprehensiveness", "agreement above chance"


class JudgedClaim(NamedTuple):
    """A claim with its verdict."""

    text: str
    verdict: str  # supported, not supported or inconclusive
    numbers: str  # the difference with its interval and unit, and p
    remark: str  # about too few seeds, or about the variants that show the opposite; "" if there are neither


class Claim(NamedTuple):
    """The claim that the difference between two values of a variant is positive, on average over the variants."""

    text: str
    unit: str
    # the difference for each seed and text, S×n; None if not measured
    values: Callable[[VariantSummary], np.ndarray | None]


def judge_claims(summaries: Sequence[VariantSummary]) -> list[JudgedClaim]:
    """Judge each claim by the mean difference over the variants with trained attention.

    A claim is omitted if a variant lacks its values, or if no text has values in all variants. The p-values are
    adjusted for the number of claims (Holm 1979). A claim is inconclusive if its p-value is undefined or at least 5 %,
    or if a variant has fewer than five seeds; otherwise, it is supported if the difference is positive.
    """
    attentive = [s for s in summaries if s.variant.choices.get("attention") not in WITHOUT_ATTENTION]
    differences = {claim: _difference(attentive, claim) for claim in CLAIMS}
    p_values = {claim: d.p_value for claim, d in differences.items() if d is not None and d.p_value is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    judged = []
    for claim, difference in differences.items():
        if difference is None:
            continue
        p_value = adjusted.get(claim)
        num_seeds = min(summary.seeds for summary in attentive)
        is_significant = p_value is not None and p_value < LEVEL and num_seeds >= MIN_SEEDS
        verdict = ("supported" if difference.value > 0 else "not supported") if is_significant else "inconclusive"
        remark = f"fewer than {MIN_SEEDS} seeds" if num_seeds < MIN_SEEDS else _describe_opposites(attentive, claim)
        judged.append(JudgedClaim(claim.text, verdict, _format(difference, claim.unit, p_value), remark))
    return judged


def _difference(summaries: Sequence[VariantSummary], claim: Claim) -> Difference | None:
    """Return the mean difference over the variants.

    The result is None if a variant lacks the values, or if no text has values in all variants.
    """
    by_variant = [claim.values(summary) for summary in summaries]
    arrays = [values for values in by_variant if values is not None]
    if not arrays or len(arrays) < len(by_variant):
        return None
    defined = np.all([~np.isnan(values).any(0) for values in arrays], axis=0)
    if not defined.any():
        return None
    samples = [Sample(values[:, defined], s.variant.seeds) for values, s in zip(arrays, summaries, strict=True)]
    return estimate([(1 / len(samples), sample) for sample in samples])


def _between_rankings(first: str, second: str, summary: VariantSummary) -> np.ndarray | None:
    values, others = (stack([r.values(NORMALIZED, ranking) for r in summary.records]) for ranking in (first, second))
    return None if values is None or others is None else values - others


def _between_seeds(summary: VariantSummary) -> np.ndarray | None:
    of_predictions, of_attention = (summary.seed_values.get(name) for name in (seeds.PREDICTIONS, seeds.ATTENTION))
    return None if of_predictions is None or of_attention is None else of_predictions - of_attention


def _describe_opposites(summaries: Sequence[VariantSummary], claim: Claim) -> str:
    """Name the variants for which the opposite is significant after Holm's adjustment; "" if there are none."""
    results = {s.variant.name: _difference([s], claim) for s in summaries}
    shown = {name: d for name, d in results.items() if d is not None and d.p_value is not None}
    adjusted = holm([d.p_value for d in shown.values() if d.p_value is not None])
    names = [n for (n, d), p_value in zip(shown.items(), adjusted, strict=True) if p_value < LEVEL and d.value < 0]
    return f"the opposite is shown for {format_names(names)}" if names else ""


def _format(difference: Difference, unit: str, p_value: float | None) -> str:
    value, low, high, _ = difference
    interval = "" if low is None or high is None else f" ({low:+.3f} to {high:+.3f})"
    return f"{value:+.3f}{interval} {unit}" + ("" if p_value is None else f"; p {format_p_value(p_value)} after Holm")


CLAIMS = (
    Claim("Attention is more faithful than a random ranking", FAITHFUL, partial(_between_rankings, ATTENTION, RANDOM)),
    Claim(
        "Attention is more faithful than the uniform ranking",
        FAITHFUL,
        partial(_between_rankings, ATTENTION, UNIFORM),
    ),
    Claim(
        "Attention × gradient is more faithful than attention",
        FAITHFUL,
        partial(_between_rankings, ATTENTION_GRADIENT, ATTENTION),
    ),
    Claim("Seeds agree more on predictions than on attention", ABOVE_CHANCE, _between_seeds),
)
