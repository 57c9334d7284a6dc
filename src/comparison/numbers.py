"""Format intervals and p-values for tables and sentences."""

from src.comparison.statistics import Interval
from src.reports.tables import UNKNOWN


def format_with_margin(interval: Interval | None, digits: int = 3, sign: str = "") -> str:
    """Such as "0.882 ± 0.003"; without a margin where there is no interval."""
    if interval is None:
        return UNKNOWN
    value = f"{interval.value:{sign}.{digits}f}"
    return value if interval.high is None else f"{value} ± {interval.high - interval.value:.{digits}f}"


def format_p_value(p_value: float | None) -> str:
    """In three decimals; "< 0.001" below that."""
    if p_value is None:
        return UNKNOWN
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
