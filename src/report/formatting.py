"""Format scores, intervals, other numbers and times for reports."""

import math
from datetime import datetime

from src.terms.intervals import Interval

UNKNOWN = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def format_known(value: float | None, form: str = "{:.3f}") -> str:
    """Format a number; return UNKNOWN for None."""
    return UNKNOWN if value is None else form.format(value)


def format_score(value: float | None, sign: str = "") -> str:
    """Format a score with three decimals; `sign="+"` adds a sign to positive values. Return UNKNOWN for None."""
    return UNKNOWN if value is None else f"{value:{sign}.3f}".replace("-", MINUS)


def format_interval(low: float | None, high: float | None, sign: str = "") -> str:
    """Format the bounds of an interval like scores; return UNKNOWN if a bound is None."""
    return UNKNOWN if low is None or high is None else f"{format_score(low, sign)} to {format_score(high, sign)}"


def format_compact(value: float) -> str:
    """Format a number with up to three significant digits: 0.021, 4.5, 320, 12.3k, 1.9M; return UNKNOWN for NaN."""
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}" if math.isfinite(value) else UNKNOWN


def format_time(iso: str) -> str:
    """Format an ISO time to the minute; return other text unchanged."""
    try:
        return datetime.fromisoformat(iso).strftime("%Y-%m-%d %H:%M %Z").strip()
    except ValueError:
        return iso


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
