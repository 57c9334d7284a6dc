"""Format scores, intervals, p-values and counts for tables."""

import math
from typing import Any

UNKNOWN = "\N{EN DASH}"  # a number that is not known or not defined


def format_known(value: float | None, form: str = "{:.3f}") -> str:
    """Format a number, by default as a score with three decimals; return UNKNOWN for None.

    A score that these round to 0 has two significant digits, because some scores have a small unit.
    """
    if form == "{:.3f}" and value and abs(value) < 0.0005:
        form = "{:.2g}"
    return UNKNOWN if value is None else form.format(value)


def format_percent(share: float | None) -> str:
    """Format a share with one decimal: "82.9 %"; "<0.1 %" and ">99.9 %" for a share that rounds to none or all."""
    if share is not None and 0 < share < 0.0005:
        return "<0.1 %"
    return ">99.9 %" if share is not None and 0.9995 <= share < 1 else format_known(share, "{:.1%}").replace("%", " %")


def format_compact(value: float) -> str:
    """Format a number with up to three significant digits: 0.021, 4.5, 320, 12.3k, 1.9M; return UNKNOWN for NaN."""
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}" if math.isfinite(value) else UNKNOWN


def format_with_margin(interval: tuple[Any, ...] | None, digits: int = 3, sign: str = "") -> str:
    """Format (value, low, high) as "0.882 ± 0.003", or as "0.882" without bounds; return UNKNOWN for None.

    An interval that is not symmetric, as where a score ends, has its bounds: "0.010 (0.000 to 0.034)".
    """
    if interval is None:
        return UNKNOWN
    value, low, high, *_ = interval
    if low is None or high is None:
        return f"{value:{sign}{_form(value, digits)}}"
    form = _form(max(abs(value), high - value), digits)
    is_symmetric = math.isclose(value - low, high - value, rel_tol=1e-6)
    bounds = f" ± {high - value:{form}}" if is_symmetric else f" ({low:{sign}{form}} to {high:{sign}{form}})"
    return f"{value:{sign}{form}}{bounds}"


def format_with_bounds(interval: tuple[Any, ...], digits: int = 4, factor: float = 1, unit: str = "") -> str:
    """Format (value, low, high) as "+0.0143 (+0.0062 to +0.0224)", or as "+0.0143" without bounds."""
    known = [factor * number for number in interval[:3] if number is not None]
    value, *bounds = (f"{number:+{_form(max(map(abs, known)), digits)}}" for number in known)
    return value + unit + (f" ({' to '.join(bounds)})" if bounds else "")


def _form(largest: float, digits: int) -> str:
    """Return the format of numbers of which this is the largest: fixed decimals, or else two significant digits."""
    return ".2g" if 0 < abs(largest) < 0.5 * 10**-digits else f".{digits}f"


def format_p_value(p_value: float | None) -> str:
    """Format a p-value with three decimals, or as "< 0.001"; return UNKNOWN for None."""
    if p_value is None:
        return UNKNOWN
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
