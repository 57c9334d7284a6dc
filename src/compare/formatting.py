"""Labels of scores, and formats of intervals, differences and p-values, for tables, sentences and the page."""

from collections.abc import Sequence

import numpy as np

from src.report.formatting import format_p_value
from src.terms.claims import Claim
from src.terms.intervals import Difference
from src.terms.study import ClaimDefinition, describe

LABELS = {
    "acc": "accuracy",
    "balanced_acc": "balanced accuracy",
    "f1_macro": "macro F1",
    "mcc": "Matthews correlation",
    "auroc": "AUROC",
    "ece": "calibration error",
    "nll": "negative log-likelihood",
    "brier": "Brier score",
    "attention_faithfulness": "normalized comprehensiveness of attention",
    "gradient_agreement": "τ of attention and gradient",
}


def label(metric: str) -> str:
    """Return the label of a metric for use within a sentence."""
    return LABELS.get(metric, metric)


def heading(metric: str) -> str:
    """Return the label of a metric with an initial capital."""
    name = label(metric)
    return name[0].upper() + name[1:]


def claim_numbers(claim: Claim) -> str:
    """Return the difference of a claim with its interval and p-value; "" without evidence."""
    if claim.difference is None:
        return ""
    adjusted = "" if claim.p_value is None else f"; p {format_p_value(claim.p_value)} after Holm"
    return format_difference(claim.definition, claim.difference) + adjusted


def claim_lines(claim: Claim) -> list[str]:
    """Return all that is known about a claim, one line each; the first line is the most important."""
    pairs = [f"{pair}: {format_difference(claim.definition, pair.difference, pair[:2])}" for pair in claim.pairs]
    return [line for line in (claim_numbers(claim), claim.reason, *pairs, *claim.notes) if line]


def format_difference(definition: ClaimDefinition, difference: Difference, names: tuple[str, str] | None = None) -> str:
    """Format a difference, such as "+1.20 (+0.40 to +2.00) points of accuracy".

    Args:
        definition: the claim.
        difference: a positive value supports the claim. If the claim favours lower values of the metric, the text has
            the opposite sign, or names the counterpart first in a ratio.
        names: the favoured variant and its counterpart, for a ratio of gradient variations; default: the selectors of
            the claim.
    """
    metric, is_lower, (value, low, high, _) = definition.metric, definition.direction == "lower", difference
    if metric == "gradient_variation":  # a difference of logarithms
        first, second = names or (describe(definition.variants), describe(definition.against))
        first, second = (second, first) if is_lower else (first, second)
        ratio = _with_bounds([f"{np.exp(number):.2f}" for number in (value, low, high) if number is not None])
        return f"the gradient norm varies {ratio} times as much with {first} as with {second}"
    if is_lower:
        value, low, high = 0 - value, high and 0 - high, low and 0 - low
    factor, digits, unit = {
        "attended_share": (100, 1, "percentage points of the words attended to, exp(entropy) / length"),
        "attention_faithfulness": (1, 3, f"in {label('attention_faithfulness')}"),
        "gradient_agreement": (1, 3, f"in {label('gradient_agreement')}"),
        "nll": (1, 4, "in negative log-likelihood"),
        "brier": (1, 4, "in Brier score"),
    }.get(metric, (100, 2, f"points of {label(metric)}"))
    numbers = [f"{factor * number:+.{digits}f}" for number in (value, low, high) if number is not None]
    return f"{_with_bounds(numbers)} {unit}"


def _with_bounds(numbers: Sequence[str]) -> str:
    value, *bounds = numbers
    return f"{value} ({' to '.join(bounds)})" if bounds else value
