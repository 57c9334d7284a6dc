"""Labels of scores, and formats of intervals and p-values, for tables, sentences and the page."""

from src.comparison.statistics import Interval
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
    """Return the label of a metric with a capital first letter."""
    name = label(metric)
    return name[0].upper() + name[1:]


def format_with_margin(interval: Interval | None, digits: int = 3, sign: str = "") -> str:
    """Format a value as "0.882 ± 0.003", or without a margin if it has no bounds; UNKNOWN if `interval` is None."""
    if interval is None:
        return UNKNOWN
    value = f"{interval.value:{sign}.{digits}f}"
    return value if interval.high is None else f"{value} ± {interval.high - interval.value:.{digits}f}"


def format_p_value(p_value: float | None) -> str:
    """Format a p-value with three decimals, or as "< 0.001"."""
    if p_value is None:
        return UNKNOWN
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
