"""A text whose words are coloured by attention weight, next to its ten most attended words."""

from collections.abc import Sequence

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

TEXT, SIDE, MARGIN = 7.6, 2.9, 0.25  # widths in inches: text, panel beside it, margins
LINE, GAP, SIZE = 0.235, 0.06, 9.5  # line height and gap between words in inches, font size in points
MAX_WORDS = 1000


def draw_strip(words: Sequence[str], weights: np.ndarray, title: str) -> Figure:
    """Draw a text and its ten most attended words.

    Of a text with more than 1,000 words, only the first 1,000 are drawn, and the title gives both numbers.

    Args:
        words: L words, L ≥ 0.
        weights: L weights, one for each word.

    Raises:
        ValueError: if the numbers of words and weights differ.
    """
    weights = clean_weights(words, weights)
    texts = [clean_text(word) for word in words[:MAX_WORDS]]
    widths = _widths(texts)
    positions = lay_out(widths, TEXT, GAP)
    text_width = max((left + width for (_, left), width in zip(positions, widths, strict=True)), default=0)
    width = max(text_width, 4) + SIDE + 3 * MARGIN
    height = max((positions[-1][0] + 1 if positions else 1) * LINE + 0.75, 3.3)
    figure = new_figure(width, height, layout=None)
    cut = f" (first {MAX_WORDS:,} of {len(words):,} words)" if len(words) > MAX_WORDS else ""
    heading = clean_text(title, 200) + cut
    figure.text(MARGIN / width, 1 - 0.3 / height, heading, **user_text(11))
    limit = colour_limit(weights)
    axes = _axes_at(figure, MARGIN, 0.5, width - SIDE - 3 * MARGIN, height - 0.6)
    _write_words(axes, texts, weights / limit, positions, widths)
    left = width - SIDE - MARGIN
    _draw_top_words(_axes_at(figure, left + 1.3, 0.67, SIDE - 1.8, 2.1), top_words(words, weights), limit)
    _draw_colour_scale(_axes_at(figure, left, 2.97, SIDE - 0.4, 0.1), limit, 1 / max(1, len(words)))
    return figure


def lay_out(widths: Sequence[float], line_width: float, gap: float) -> list[tuple[int, float]]:
    """Break words of these widths into lines; return each word's line number and left edge (inches)."""
    positions, line, left = [], 0, 0.0
    for width in widths:
        if left > 0 and left + width > line_width:
            line, left = line + 1, 0.0
        positions.append((line, left))
        left += width + gap
    return positions


def _write_words(
    axes: Axes, words: list[str], depths: np.ndarray, positions: list[tuple[int, float]], widths: list[float]
) -> None:
    axes.set(xlim=(0, axes.bbox.width / DPI), ylim=(axes.bbox.height / DPI, 0))
    axes.axis("off")
    if not words:
        axes.text(0, LINE, "(no words)", fontsize=SIZE)
    for word, depth, (line, left), width in zip(words, depths, positions, widths, strict=False):
        colour = colormaps[WEIGHTS](depth)
        ink = "white" if depth > 0.6 else INK
        top = line * LINE
        axes.add_patch(Rectangle((left, top + 0.02), width, LINE - 0.04, facecolor=colour, linewidth=0))
        center = (left + width / 2, top + LINE / 2)
        axes.text(*center, word, ha="center", va="center_baseline", color=ink, **user_text(SIZE))


def _draw_top_words(axes: Axes, top: list[WeightedWord], limit: float) -> None:
    bars = axes.barh(range(len(top)), [w.weight for w in top], color=colormaps[WEIGHTS](0.7), height=0.7)
    axes.bar_label(bars, fmt="%.4f", padding=3, fontsize=8)
    axes.set_yticks(range(len(top)), [clean_text(w.word, 16) for w in top], **user_text(8.5))
    axes.set(ylim=(9.5, -0.5), xlim=(0, limit), xticks=[])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("most attended words", fontsize=9)


def _draw_colour_scale(axes: Axes, limit: float, uniform: float) -> None:
    """Draw the colour scale, labelled with its end values and the uniform weight."""
    bar = Colorbar(axes, ScalarMappable(Normalize(0, limit), WEIGHTS), orientation="horizontal")
    bar.set_ticks([0, limit], labels=["0", f"{limit:.2g}"])
    axes.tick_params(labelsize=7.5)
    axes.axvline(uniform, color=COLOURS[1], linewidth=1.5)
    label, position = f"uniform: {uniform:.2g}", (uniform, 1)
    axes.annotate(label, position, (0, 2), textcoords="offset points", fontsize=7.5, color=COLOURS[1])


def _axes_at(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Add axes at a position in inches from the left and top of the figure."""
    total_width, total_height = figure.get_size_inches()
    bottom = total_height - top - height
    return figure.add_axes((left / total_width, bottom / total_height, width / total_width, height / total_height))


def _widths(words: Sequence[str]) -> list[float]:
    renderer = FigureCanvasAgg(Figure(dpi=DPI)).get_renderer()
    font = FontProperties(family=families(), size=SIZE)
    with missing_glyphs_allowed():
        return [renderer.get_text_width_height_descent(word, font, False)[0] / DPI + 0.06 for word in words]
