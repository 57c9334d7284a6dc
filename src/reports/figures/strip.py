"""A text in lines, each word on the colour of its weight, beside its ten heaviest words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle

from src.reports.figures.style import (
    COLOURS,
    DPI,
    INK,
    WEIGHTS,
    families,
    missing_glyphs_allowed,
    new_figure,
    user_text,
)
from src.reports.words import WeightedWord, clean_text, clean_weights, colour_limit, top_words

TEXT, SIDE, MARGIN = 7.6, 2.9, 0.25  # inches across: the text, the table beside it, what separates them
LINE, GAP, SIZE = 0.235, 0.06, 9.5  # inches a line, inches between words, points
MOST = 1000  # words


def draw_strip(words: Sequence[str], weights: np.ndarray, title: str) -> Figure:
    """The text and its top ten. Of more than 1,000 words the first 1,000 are shown, and the title says so.

    Args:
        words: L words; may be empty.
        weights: L weights, one a word.

    Raises:
        ValueError: not one weight for each word.
    """
    weights = clean_weights(words, weights)
    shown = [clean_text(word) for word in words[:MOST]]
    widths = _widths(shown)
    places = lay_out(widths, TEXT, GAP)
    across = max((left + width for (_, left), width in zip(places, widths, strict=True)), default=0)
    width = max(across, 4) + SIDE + 3 * MARGIN
    height = max((places[-1][0] + 1 if places else 1) * LINE + 0.75, 3.3)
    figure = new_figure(width, height, layout=None)
    cut = f" (first {MOST:,} of {len(words):,} words)" if len(words) > MOST else ""
    heading = clean_text(title, 200) + cut
    figure.text(MARGIN / width, 1 - 0.3 / height, heading, **user_text(11))
    strongest = colour_limit(weights)
    text = _inches(figure, MARGIN, 0.5, width - SIDE - 3 * MARGIN, height - 0.6)
    _write(text, shown, weights / strongest, places, widths)
    left = width - SIDE - MARGIN
    _rank(_inches(figure, left + 1.3, 0.67, SIDE - 1.8, 2.1), top_words(words, weights), strongest)
    _scale(_inches(figure, left, 2.97, SIDE - 0.4, 0.1), strongest, 1 / max(1, len(words)))
    return figure


def lay_out(widths: Sequence[float], across: float, gap: float) -> list[tuple[int, float]]:
    """Line and left edge of each word, filling lines from the left: widths → (line, inches) each."""
    places, line, left = [], 0, 0.0
    for width in widths:
        if left > 0 and left + width > across:
            line, left = line + 1, 0.0
        places.append((line, left))
        left += width + gap
    return places


def _write(
    axes: Axes, words: list[str], depths: np.ndarray, places: list[tuple[int, float]], widths: list[float]
) -> None:
    axes.set(xlim=(0, axes.bbox.width / DPI), ylim=(axes.bbox.height / DPI, 0))
    axes.axis("off")
    if not words:
        axes.text(0, LINE, "(no words)", fontsize=SIZE)
    for word, depth, (line, left), width in zip(words, depths, places, widths, strict=False):
        colour = colormaps[WEIGHTS](depth)
        ink = "white" if depth > 0.6 else INK
        top = line * LINE
        axes.add_patch(Rectangle((left, top + 0.02), width, LINE - 0.04, facecolor=colour, linewidth=0))
        middle = (left + width / 2, top + LINE / 2)
        axes.text(*middle, word, ha="center", va="center_baseline", color=ink, **user_text(SIZE))


def _rank(axes: Axes, top: list[WeightedWord], strongest: float) -> None:
    axes.barh(range(len(top)), [w.weight for w in top], color=colormaps[WEIGHTS](0.7), height=0.7)
    beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}
    for row, (_, _, weight) in enumerate(top):
        axes.annotate(f"{weight:.4f}", (weight, row), **beside)
    axes.set_yticks(range(len(top)), [clean_text(w.word, 16) for w in top], **user_text(8.5))
    axes.set(ylim=(9.5, -0.5), xlim=(0, strongest), xticks=[])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("most attended words", fontsize=9)


def _scale(axes: Axes, strongest: float, even: float) -> None:
    """The colours with their weights, and the weight of each word if all weighed the same."""
    bar = Colorbar(axes, ScalarMappable(Normalize(0, strongest), WEIGHTS), orientation="horizontal")
    bar.set_ticks([0, strongest], labels=["0", f"{strongest:.2g}"])
    axes.tick_params(labelsize=7.5)
    axes.axvline(even, color=COLOURS[1], linewidth=1.5)
    above: dict[str, Any] = {
        "xytext": (0, 2),
        "textcoords": "offset points",
        "fontsize": 7.5,
        "color": COLOURS[1],
    }
    axes.annotate(f"even: {even:.2g}", (even, 1), **above)


def _inches(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes at a place counted from the figure's left and top."""
    across, tall = figure.get_size_inches()
    return figure.add_axes((left / across, (tall - top - height) / tall, width / across, height / tall))


def _widths(words: Sequence[str]) -> list[float]:
    renderer = FigureCanvasAgg(Figure(dpi=DPI)).get_renderer()
    font = FontProperties(family=families(), size=SIZE)
    with missing_glyphs_allowed():
        return [renderer.get_text_width_height_descent(word, font, False)[0] / DPI + 0.06 for word in words]
