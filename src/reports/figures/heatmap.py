"""Heat maps of word × word attention weights: rows are queries, columns are keys."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from src.reports.figures.style import INK, WEIGHTS, new_figure, user_text
from src.reports.words import MAP_QUANTILE, clean_text, colour_limit

MAX_NAMED, MAX_NAMED_IN_GRID = 40, 20  # maximum number of words on an axis: in a single map, and in the grid of heads
MAX_HEADS = 16
MAX_NUMBERED = 12  # with more words, the cells are too small for numbers


def draw_maps(words: Sequence[str], matrix: np.ndarray | None, title: str) -> dict[str, Figure]:
    """Return, by name, the figure "heatmap" and, for several heads, the figure "heads"; {} if the matrix is None."""
    if matrix is None:
        return {}
    heatmap = {"heatmap": draw_heatmap(words, matrix, title)}
    return heatmap | ({"heads": draw_heads(words, matrix, title)} if len(matrix) > 1 else {})


def draw_heatmap(words: Sequence[str], matrix: np.ndarray, title: str) -> Figure:
    """Draw the map of a text, averaged over heads.

    For a text with more than 40 words, draw an overview of all words, and a map of the 40 most attended words.

    Args:
        words: L words, L ≥ 1.
        matrix: weights H×L×L; rows are queries and sum to 1.
    """
    heads = np.nan_to_num(matrix.astype(np.float64))
    mean, note = heads.mean(0), ""
    columns = most_attended(mean, MAX_NAMED)
    submatrix = mean[np.ix_(columns, columns)]
    side = max(2.6, 0.45 * len(words)) if len(words) <= MAX_NUMBERED else 0.19 * len(columns)
    if len(words) <= MAX_NAMED:
        figure = new_figure(side + 2.6, side + 1.8, "compressed")
        panels = [figure.subplots()]
    else:
        figure = new_figure(1.65 * side + 3.2, side + 1.8)
        panels = list(figure.subplots(1, 2, width_ratios=(0.65, 1)))
        _overview(panels[0], mean)
        fraction = mean[:, columns].sum() / max(mean.sum(), 1e-12)
        note = f": the {MAX_NAMED} most attended words, with {fraction:.0%} of the weight"
    image = panels[-1].imshow(submatrix, cmap=WEIGHTS, vmin=0, vmax=colour_limit(mean))
    names = _names(words, columns)
    _label(panels[-1], names, names, 8)
    panels[-1].set_ylabel("attending word (query)", fontsize=8.5)
    panels[-1].set_xlabel("attended word (key)" + note, fontsize=8.5)
    if len(words) <= MAX_NUMBERED:
        _number(panels[-1], submatrix, colour_limit(mean))
    heading = f"Attention weights, mean of {len(heads)} heads" if len(heads) > 1 else "Attention weights"
    _finish(figure, image, panels, heading, title)
    return figure


def draw_heads(words: Sequence[str], matrix: np.ndarray, title: str) -> Figure:
    """Draw a map of each of the first 16 heads, with the 20 most attended words and a common colour scale.

    Args:
        words: L words, L ≥ 1.
        matrix: weights H×L×L.
    """
    heads = np.nan_to_num(matrix.astype(np.float64))
    columns = most_attended(heads.mean(0), MAX_NAMED_IN_GRID)
    names = _names(words, columns)
    selected = heads[:MAX_HEADS][:, columns][:, :, columns]
    across = min(4, len(selected))
    down = -(-len(selected) // across)
    side = max(1.8, 0.16 * len(columns))
    figure = new_figure(across * side + 2.4, down * (side + 0.35) + 1.8, "compressed")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for number, (axes, head) in enumerate(zip(panels, selected, strict=False)):
        image = axes.imshow(head, cmap=WEIGHTS, vmin=0, vmax=colour_limit(heads))
        _label(axes, names if number < across else [], names if number % across == 0 else [], 7)
        axes.set_xlabel(f"head {number + 1}", fontsize=8.5)
        axes.xaxis.set_label_position("bottom")
    for axes in panels[len(selected) :]:
        axes.axis("off")
    heading = "Attention weights by head"
    if len(heads) > MAX_HEADS:
        heading += f", the first {MAX_HEADS} of {len(heads)}"
    if len(words) > MAX_NAMED_IN_GRID:
        heading += f", the {MAX_NAMED_IN_GRID} most attended of {len(words):,} words"
    _finish(figure, image, list(panels), heading, title)
    return figure


def most_attended(matrix: np.ndarray, count: int) -> np.ndarray:
    """Return the indices of the (at most) `count` columns with the largest total weights, in text order."""
    return np.sort(np.argsort(-matrix.sum(0), kind="stable")[:count])


def _names(words: Sequence[str], columns: np.ndarray) -> list[str]:
    """Return the words of the columns; if some words are omitted, append each word's position, counted from 1."""
    if len(columns) == len(words):
        return [clean_text(word, 20) for word in words]
    return [f"{clean_text(words[column], 20)} {column + 1}" for column in columns]


def _label(axes: Axes, columns: list[str], rows: list[str], size: float) -> None:
    """Label the columns (at the top) and the rows (at the left) of a map."""
    for axis, names in ((axes.xaxis, columns), (axes.yaxis, rows)):
        axis.set_ticks(range(len(names)), names, **user_text(size))
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    axes.tick_params(axis="x", labelrotation=90 if max(map(len, columns), default=0) > 2 else 0)


def _overview(axes: Axes, matrix: np.ndarray) -> None:
    """Draw the map of all words."""
    length, limit = len(matrix), colour_limit(matrix, MAP_QUANTILE)
    axes.imshow(matrix, cmap=WEIGHTS, vmin=0, vmax=limit, extent=(0.5, length + 0.5, length + 0.5, 0.5))
    axes.set_title(f"all {length:,} words (full colour from weight {limit:.2g})", fontsize=9, loc="left")
    axes.set_anchor("N")
    axes.set_xlabel("position of the attended word", fontsize=8.5)
    axes.set_ylabel("position of the attending word", fontsize=8.5)
    axes.tick_params(labelsize=8)


def _number(axes: Axes, matrix: np.ndarray, limit: float) -> None:
    for row, column in np.ndindex(*matrix.shape):
        ink = "white" if matrix[row, column] > 0.55 * limit else INK
        axes.text(column, row, f"{matrix[row, column]:.2f}", ha="center", va="center", fontsize=7, color=ink)


def _finish(figure: Figure, image: AxesImage, panels: list[Axes], heading: str, title: str) -> None:
    figure.suptitle(f"{heading}\n{clean_text(title, 200)}", x=0.01, ha="left", **user_text(10.5))
    bar = figure.colorbar(image, ax=panels, shrink=0.7, pad=0.01, panchor=False)
    bar.set_label("attention weight (each row of the whole map sums to 1)", fontsize=8)
    bar.ax.tick_params(labelsize=7.5)
