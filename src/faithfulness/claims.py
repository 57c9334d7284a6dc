"""Claims about rankings of the same models, with verdicts; claims about variants are in studies/faithfulness.yaml."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from src.comparison.formatting import format_p_value
from src.comparison.statistics import LEVEL, MIN_SEEDS, Difference, draw_samples, estimate_difference, holm
from src.faithfulness.names import ATTENTION, ATTENTION_GRADIENT, RANDOM, UNIFORM
from src.faithfulness.summary import VariantSummary
from src.formatting import format_names

WITHOUT_ATTENTION = ("none", "uniform")
CLAIMS = {  # the first ranking is claimed to be more faithful than the second
    "Attention is more faithful than a random ranking": (ATTENTION, RANDOM),
    "Attention is more faithful than a uniform ranking": (ATTENTION, UNIFORM),
    "Attention × gradient is more faithful than attention": (ATTENTION_GRADIENT, ATTENTION),
}


class JudgedClaim(NamedTuple):
    """A claim with its verdict."""

    text: str
    verdict: str  # supported, not supported or inconclusive
    numbers: str  # the difference in normalized comprehensiveness, and p
    variants: str  # variants that differ significantly in the opposite direction, or the reason of a missing verdict


def judge_claims(summaries: Sequence[VariantSummary]) -> list[JudgedClaim]:
    """Judge each claim by the mean difference in normalized comprehensiveness over the variants with attention.

    p is adjusted for the three claims (Holm 1979). A claim is inconclusive if p is at least 5 %, or with fewer than
    five seeds.
    """
    attentive = [s for s in summaries if s.variant.choices.get("attention") not in WITHOUT_ATTENTION]
    differences = {text: _difference(attentive, *rankings) for text, rankings in CLAIMS.items()}
    p_values = {text: d.p_value for text, d in differences.items() if d is not None and d.p_value is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    claims = []
    for text, difference in differences.items():
        if difference is None:
            continue
        p_value = adjusted.get(text)
        seeds = min(summary.seeds for summary in attentive)
        is_significant = p_value is not None and p_value < LEVEL and seeds >= MIN_SEEDS
        verdict = ("supported" if difference.value > 0 else "not supported") if is_significant else "inconclusive"
        reason = f"fewer than {MIN_SEEDS} seeds" if seeds < MIN_SEEDS else _exceptions(attentive, *CLAIMS[text])
        claims.append(JudgedClaim(text, verdict, _format(difference, p_value), reason))
    return claims


def _difference(summaries: Sequence[VariantSummary], first: str, second: str) -> Difference | None:
    """The mean over variants of a difference between rankings; None if a variant has no such values."""
    by_variant = [_by_text(summary, first, second) for summary in summaries]
    arrays = [values for values in by_variant if values is not None]
    if not arrays or len(arrays) < len(by_variant):
        return None
    defined = np.all([~np.isnan(values).any(0) for values in arrays], axis=0)
    if not defined.any():
        return None
    samples = draw_samples([values[:, defined] for values in arrays], seeds=[s.variant.seeds for s in summaries])
    return estimate_difference([(1 / len(samples), sample) for sample in samples])


def _by_text(summary: VariantSummary, first: str, second: str) -> np.ndarray | None:
    """The differences of each seed and text: S×n; None if the rankings were not measured."""
    differences = []
    for record in summary.records:
        values, others = record.values("normalized", first), record.values("normalized", second)
        if values is None or others is None:
            return None
        differences.append(values - others)
    return np.stack(differences)


def _exceptions(summaries: Sequence[VariantSummary], first: str, second: str) -> str:
    """The variants that show the opposite of a claim, after Holm's adjustment for all of them."""
    results = {s.variant.name: _difference([s], first, second) for s in summaries}
    shown = {name: d for name, d in results.items() if d is not None and d.p_value is not None}
    adjusted = holm([d.p_value for d in shown.values() if d.p_value is not None])
    names = [n for (n, d), p_value in zip(shown.items(), adjusted, strict=True) if p_value < LEVEL and d.value < 0]
    return f"the opposite is shown for {format_names(names)}" if names else ""


def _format(difference: Difference, p_value: float | None) -> str:
    value, low, high, _ = difference
    interval = "" if low is None or high is None else f" ({low:+.3f} to {high:+.3f})"
    return f"{value:+.3f}{interval}" + ("" if p_value is None else f"; p {format_p_value(p_value)} after Holm")
