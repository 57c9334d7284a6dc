"""Labels of scores, and formats of intervals, differences and p-values, for tables, sentences and the page."""

from collections.abc import Sequence

import numpy as np

from src.comparison.statistics import Interval
from src.comparison.study import ClaimDefinition
from src.comparison.two_level_bootstrap import Difference
from src.reports.tables import UNKNOWN

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


def format_with_margin(interval: Interval | None, digits: int = 3, sign: str = "") -> str:
    """Format an interval as "0.882 ± 0.003", or as "0.882" without bounds; return UNKNOWN for None."""
    if interval is None:
        return UNKNOWN
    value = f"{interval.value:{sign}.{digits}f}"
    return value if interval.high is None else f"{value} ± {interval.high - interval.value:.{digits}f}"


def format_p_value(p_value: float | None) -> str:
    """Format a p-value with three decimals, or as "< 0.001"; return UNKNOWN for None."""
    if p_value is None:
        return UNKNOWN
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def format_difference(
    definition: ClaimDefinition, difference: Difference, favoured: str | None = None, rival: str | None = None
) -> str:
    """Format a difference, such as "+1.20 (+0.40 to +2.00) points of accuracy".

    Args:
        definition: the claim.
        difference: a positive value supports the claim. If the claim favours lower values of the metric, the text has
            the opposite sign, or names the rival first in a ratio.
        favoured, rival: names for a ratio of gradient variations; default: the selectors of the claim.
    """
    metric, is_lower, (value, low, high, _) = definition.metric, definition.direction == "lower", difference
    if metric == "gradient_variation":  # a difference of logarithms
        names = (favoured or definition.favoured_selectors, rival or definition.rival_selectors)
        first, second = reversed(names) if is_lower else names
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
