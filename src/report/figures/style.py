"""The common style of all figures (colours, sizes, axes and fonts), and atomic saving."""

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from src.files import replace_atomically

log = logging.getLogger(__name__)
WEIGHTS = "Blues"  # colour map of weights: one hue, light to dark, readable in greyscale and with colour blindness
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito 2008
INK, GREY = "#111827", "#6b7280"
DPI = 150
SCRIPTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei", "Noto Sans", "Symbola")


def new_figure(
    width: float, height: float, layout: Literal["constrained", "compressed"] | None = "constrained"
) -> Figure:
    """Create a figure without pyplot's global state.

    Args:
        width, height: in inches.
        layout: "compressed" for maps with square cells, "constrained" for other plots, None for fixed positions.
    """
    return Figure((width, height), dpi=DPI, layout=layout)


def name_axes(axes: Axes, title: str, x: str, y: str) -> None:
    """Set the title and the axis labels; show a light grid, and hide the top and the right spine."""
    axes.set_title(title, loc="left", fontsize=10.5)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#e5e7eb", linewidth=0.6)
    axes.set_axisbelow(True)


@cache
def families() -> list[str]:
    """Return DejaVu Sans, followed by the installed font families for scripts that it lacks."""
    installed = set(font_manager.get_font_names())
    return ["DejaVu Sans", *(family for family in SCRIPTS if family in installed)]


def user_text(size: float) -> dict[str, Any]:
    """Return matplotlib properties for text from users: fallback fonts, and no parsing of formulas."""
    return {"fontsize": size, "fontfamily": families(), "parse_math": False}


@contextmanager
def missing_glyphs_allowed() -> Iterator[None]:
    """Replace matplotlib's warnings about missing glyphs (drawn as empty boxes) with one warning per font package."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message="Glyph .* missing from font")
        yield
    for warning in caught:
        if match := re.match(r"Glyph (\d+) .*missing from font", str(warning.message)):
            _suggest_font(_font_package(int(match[1])))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _font_package(code: int) -> str:
    """Return the Debian package of a font that has the character with this code point."""
    if 0x1F000 <= code < 0x20000 or 0x2600 <= code < 0x27C0:
        return "fonts-symbola"  # matplotlib cannot draw the bitmaps of Noto Color Emoji
    is_east_asian = 0x1100 <= code < 0x1200 or 0x2E80 <= code < 0xD800 or code >= 0xF900 or code >= 0x20000
    return "fonts-noto-cjk" if is_east_asian else "fonts-noto-core"


@cache
def _suggest_font(package: str) -> None:
    """Warn, once for each package, that a font for some characters is missing."""
    log.warning(
        "Figures show some characters as empty boxes: install a font that has them, such as the Debian package %s",
        package,
    )


def save_figure(figure: Figure, path: Path) -> Path:
    """Write the figure as PNG atomically."""
    with replace_atomically(path) as part, missing_glyphs_allowed():
        figure.savefig(part, format="png", facecolor="white", bbox_inches="tight", pad_inches=0.12)
    return path
