"""The common style of all figures (colours, sizes, axes and fonts), and atomic saving."""

import warnings
from functools import cache
from pathlib import Path
from typing import Any, Literal

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from heedful.base.files import replace_atomically

WEIGHTS = "Blues"  # colour map of weights: one hue, light to dark, readable in greyscale and with colour blindness
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito 2008
INK, GREY = "#111827", "#6b7280"
SCRIPTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei", "Noto Sans", "Symbola")


def new_figure(width: float, height: float, layout: Literal["constrained", "compressed"] = "constrained") -> Figure:
    """Create a figure without pyplot's global state.

    Args:
        width, height: in inches.
        layout: "compressed" for maps with square cells, "constrained" for other plots.
    """
    return Figure((width, height), dpi=150, layout=layout)


def name_axes(axes: Axes, title: str, x: str, y: str) -> None:
    """Set the title and the axis labels; show a light grid, and hide the top and the right spine."""
    axes.set_title(title, loc="left", fontsize=10.5)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#e5e7eb", linewidth=0.6)
    axes.set_axisbelow(True)


def integer_ticks(**options: int) -> MaxNLocator:
    return MaxNLocator(integer=True, min_n_ticks=1, **options)


@cache
def _families() -> list[str]:
    installed = set(font_manager.get_font_names())
    return ["DejaVu Sans", *(family for family in SCRIPTS if family in installed)]


def user_text(size: float) -> dict[str, Any]:
    """Return matplotlib properties for text from users: fonts for scripts, and no parsing of formulas."""
    return {"fontsize": size, "fontfamily": _families(), "parse_math": False}


def save_figure(figure: Figure, path: Path) -> Path:
    """Write the figure as PNG atomically; characters that no font has are empty boxes, without a warning."""
    with replace_atomically(path) as part, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(part, format="png", facecolor="white", bbox_inches="tight", pad_inches=0.12)
    return path
