"""Claims that compare rankings of a variant, with verdicts; a study file has claims that compare variants."""

from collections.abc import Mapping, Sequence

import numpy as np

from heedful.faithfulness.summary import VariantSummary, stack
from heedful.faithfulness.verdict import trained_attention
from heedful.runs.faithfulness_record import ATTENTION, ATTENTION_GRADIENT, RANDOM, UNIFORM
from heedful.terms.intervals import Sample
from studies.claims import Claim, Pair, judge
from studies.study import Statement

NORMALIZED = "normalized_comprehensiveness"
BETWEEN_RANKINGS = {
    "Attention is more faithful than a random ranking": (ATTENTION, RANDOM),
    "Attention is more faithful than the uniform ranking": (ATTENTION, UNIFORM),
    "Attention × gradient is more faithful than attention": (ATTENTION_GRADIENT, ATTENTION),
}


def judge_rankings(summaries: Sequence[VariantSummary]) -> tuple[Claim, ...]:
    """Judge the claims in BETWEEN_RANKINGS on the variants with trained attention."""
    attentive = trained_attention(summaries)
    claims = []
    for text, (first, second) in BETWEEN_RANKINGS.items():
        differences = {}
        for summary in attentive:
            values, others = (stack([r.values(NORMALIZED, name) for r in summary.records]) for name in (first, second))
            sample = None
            if values is not None and others is not None:
                sample = Sample(values - others, summary.variant.seeds, groups=summary.groups)
            differences[f"{first} of {summary.variant.name}"] = sample
        claims += find_claims(text, "normalized comprehensiveness", differences, second)
    return judge(claims)


def find_claims(claim: str, metric: str, differences: Mapping[str, Sample | None], counterpart: str) -> list[Claim]:
    """Return the claim that a difference is positive, on average over variants, with its evidence.

    The list is empty if a variant lacks its values, or if no text has values in all variants.

    Args:
        differences: the favoured side, and its difference from the counterpart, of each variant.
    """
    samples = [sample for sample in differences.values() if sample is not None]
    if not samples or len(samples) < len(differences):
        return []
    defined = np.all([~np.isnan(sample.scores).any(0) for sample in samples], axis=0)
    if not defined.any():
        return []
    pairs = tuple(
        Pair(name, counterpart, ((1, sample.select(defined)),))
        for name, sample in zip(differences, samples, strict=True)
    )
    return [Claim(Statement(claim=claim, source="Heedful's own", metric=metric), pairs)]
