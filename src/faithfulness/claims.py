"""Claims that compare rankings of a variant, with verdicts; claims that compare variants are in studies/."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from src.faithfulness.summary import VariantSummary, stack
from src.formatting import format_names, format_p_value
from src.records.faithfulness import ATTENTION, ATTENTION_GRADIENT, RANDOM, UNIFORM, WITHOUT_ATTENTION
from src.records.variants import Variant
from src.terms.intervals import LEVEL, MIN_SEEDS, Difference, Sample, estimate, holm

NORMALIZED = "normalized_comprehensiveness"
BETWEEN_RANKINGS = {
    "Attention is more faithful than a random ranking": (ATTENTION, RANDOM),
    "Attention is more faithful than the uniform ranking": (ATTENTION, UNIFORM),
    "Attention × gradient is more faithful than attention": (ATTENTION_GRADIENT, ATTENTION),
}


class JudgedClaim(NamedTuple):
    """A claim with its verdict."""

    text: str
    verdict: str  # supported, contradicted or inconclusive
    numbers: str  # the difference with its interval and unit, and p
    remark: str  # about too few seeds, or about the variants that show the opposite; "" if there are neither


def has_attention(variant: Variant) -> bool:
    """Return whether a variant has trained attention weights."""
    return variant.choices.get("attention") not in WITHOUT_ATTENTION


def judge_rankings(summaries: Sequence[VariantSummary]) -> list[JudgedClaim]:
    """Judge the claims in BETWEEN_RANKINGS on the variants with trained attention."""
    attentive = [summary for summary in summaries if has_attention(summary.variant)]
    claims = {
        text: {summary.variant.name: _difference(summary, *rankings) for summary in attentive}
        for text, rankings in BETWEEN_RANKINGS.items()
    }
    return judge(claims, min((summary.seeds for summary in attentive), default=0), "normalized comprehensiveness")


def _difference(summary: VariantSummary, first: str, second: str) -> Sample | None:
    values, others = (stack([r.values(NORMALIZED, name) for r in summary.records]) for name in (first, second))
    return None if values is None or others is None else Sample(values - others, summary.variant.seeds)


def judge(claims: Mapping[str, Mapping[str, Sample | None]], seeds: int, unit: str) -> list[JudgedClaim]:
    """Judge each claim that a difference is positive, on average over variants.

    A claim is omitted if a variant lacks its values, or if no text has values in all variants. The p-values are
    adjusted for the number of claims (Holm 1979). A claim is inconclusive if its p-value is undefined or at least 5 %,
    or if a variant has fewer than five seeds; otherwise, it is supported if the difference is positive.

    Args:
        claims: by claim and name of a variant, the difference for each seed and text; None if it was not measured.
        seeds: the smallest number of seeds of a variant.
    """
    differences = {
        text: d for text, by_variant in claims.items() if (d := _mean(list(by_variant.values()))) is not None
    }
    p_values = {text: d.p_value for text, d in differences.items() if d.p_value is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    judged = []
    for text, difference in differences.items():
        p_value = adjusted.get(text)
        is_significant = p_value is not None and p_value < LEVEL and seeds >= MIN_SEEDS
        verdict = ("supported" if difference.value > 0 else "contradicted") if is_significant else "inconclusive"
        remark = f"fewer than {MIN_SEEDS} seeds" if seeds < MIN_SEEDS else _describe_opposites(claims[text])
        judged.append(JudgedClaim(text, verdict, _format(difference, unit, p_value), remark))
    return judged


def _mean(by_variant: Sequence[Sample | None]) -> Difference | None:
    """Return the mean difference over the variants, for the texts with values in all variants; None without such."""
    samples = [sample for sample in by_variant if sample is not None]
    if not samples or len(samples) < len(by_variant):
        return None
    defined = np.all([~np.isnan(sample.scores).any(0) for sample in samples], axis=0)
    if not defined.any():
        return None
    return estimate([(1 / len(samples), Sample(sample.scores[:, defined], sample.seeds)) for sample in samples])


def _describe_opposites(by_variant: Mapping[str, Sample | None]) -> str:
    """Name the variants for which the opposite is significant after Holm's adjustment; "" if there are none."""
    results = {name: _mean([sample]) for name, sample in by_variant.items()}
    tested = [(name, d.value, d.p_value) for name, d in results.items() if d is not None and d.p_value is not None]
    adjusted = holm([p_value for _, _, p_value in tested])
    names = [name for (name, value, _), p in zip(tested, adjusted, strict=True) if p < LEVEL and value < 0]
    return f"the opposite is shown for {format_names(names)}" if names else ""


def _format(difference: Difference, unit: str, p_value: float | None) -> str:
    value, low, high, _ = difference
    interval = "" if low is None or high is None else f" ({low:+.3f} to {high:+.3f})"
    return f"{value:+.3f}{interval} {unit}" + ("" if p_value is None else f"; p {format_p_value(p_value)} after Holm")
