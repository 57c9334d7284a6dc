"""Which word attends to which: queries down the side, keys along the top."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from src.reports.figures.style import INK, WEIGHTS, label_words, new_figure, user_text
from src.reports.words import clean_text, colour_limit

NAMED, IN_GRID = 40, 20  # words that an axis can name, alone and in the grid of heads
HEADS = 16
NUMBERED = 12  # words; beyond, cells are too small for numbers


def draw_heatmap(words: Sequence[str], matrix: np.ndarray, title: str = "") -> Figure:
    """The map of one text, mean of its heads; of more than 40 words, whole and for the 40 most attended.

    Args:
        words: L words, at least one.
        matrix: weights L×L, or H×L×L, of which the mean is drawn; rows are queries and sum to 1.

    Raises:
        ValueError: the matrix has not one row and one column for each word.
    """
    heads = _heads(words, matrix)
    mean, note = heads.mean(0), ""
    chosen = most_attended(mean, NAMED)
    kept = mean[np.ix_(chosen, chosen)]
    side = max(2.6, 0.45 * len(words)) if len(words) <= NUMBERED else 0.19 * len(chosen)
    if len(words) <= NAMED:
        figure = new_figure(side + 2.6, side + 1.8, "compressed")
        panels = [figure.subplots()]
    else:
        figure = new_figure(1.65 * side + 3.2, side + 1.8)
        panels = list(figure.subplots(1, 2, width_ratios=(0.65, 1)))
        _overview(panels[0], mean)
        share = mean[:, chosen].sum() / max(mean.sum(), 1e-12)
        note = f", the {NAMED} that hold {share:.0%} of the weight"
    image = panels[-1].imshow(kept, cmap=WEIGHTS, vmin=0, vmax=colour_limit(mean))
    names = _names(words, chosen)
    label_words(panels[-1], names, names, 8)
    panels[-1].set_ylabel("attending word (query)", fontsize=8.5)
    panels[-1].set_xlabel("attended word (key)" + note, fontsize=8.5)
    if len(words) <= NUMBERED:
        _number(panels[-1], kept, colour_limit(mean))
    what = f"Attention, mean of {len(heads)} heads" if len(heads) > 1 else "Attention"
    _finish(figure, image, panels, what, title)
    return figure


def draw_heads(words: Sequence[str], matrix: np.ndarray, title: str = "") -> Figure:
    """A map for each head, at most 16, on one scale; of more than 20 words those most attended over all.

    Args:
        words: L words, at least one.
        matrix: weights H×L×L.

    Raises:
        ValueError: the matrix has not one row and one column for each word.
    """
    heads = _heads(words, matrix)
    chosen = most_attended(heads.mean(0), IN_GRID)
    names = _names(words, chosen)
    shown = heads[:HEADS][:, chosen][:, :, chosen]
    across = min(4, len(shown))
    down = -(-len(shown) // across)
    side = max(1.8, 0.16 * len(chosen))
    figure = new_figure(across * side + 2.4, down * (side + 0.35) + 1.8, "compressed")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for number, (axes, head) in enumerate(zip(panels, shown, strict=False)):
        image = axes.imshow(head, cmap=WEIGHTS, vmin=0, vmax=colour_limit(heads))
        label_words(axes, names if number < across else None, names if number % across == 0 else None, 7)
        axes.set_xlabel(f"head {number + 1}", fontsize=8.5)
        axes.xaxis.set_label_position("bottom")
    for axes in panels[len(shown) :]:
        axes.axis("off")
    what = "Attention by head"
    what += f", the first {HEADS} of {len(heads)}" if len(heads) > HEADS else ""
    what += f", the {IN_GRID} most attended of {len(words):,} words" if len(words) > IN_GRID else ""
    _finish(figure, image, list(panels), what, title)
    return figure


def most_attended(matrix: np.ndarray, count: int) -> np.ndarray:
    """Places of the columns that receive most weight, in the order of the text: L×L → at most `count`."""
    return np.sort(np.argsort(-matrix.sum(0), kind="stable")[:count])


def _heads(words: Sequence[str], matrix: np.ndarray) -> np.ndarray:
    heads = np.nan_to_num(np.asarray(matrix, dtype=np.float64))
    heads = heads[None] if heads.ndim == 2 else heads
    if len(words) == 0 or heads.ndim != 3 or heads.shape[1:] != (len(words), len(words)):
        raise ValueError(f"matrix is {np.shape(matrix)} for {len(words)} words: give L×L or H×L×L with L > 0")
    return heads


def _names(words: Sequence[str], chosen: np.ndarray) -> list[str]:
    """The chosen words, with their place in the text (from 1) where some words are left out."""
    if len(chosen) == len(words):
        return [clean_text(word, 20) for word in words]
    return [f"{clean_text(words[at], 20)} {at + 1}" for at in chosen]


def _overview(axes: Axes, matrix: np.ndarray) -> None:
    """The whole map in small, its colours set by the 99.5th percentile so that faint stripes show."""
    length = len(matrix)
    strongest = max(float(np.percentile(matrix, 99.5)), min(1.0, 3 / length))
    axes.imshow(matrix, cmap=WEIGHTS, vmin=0, vmax=strongest, extent=(0.5, length + 0.5, length + 0.5, 0.5))
    axes.set_title(f"all {length:,} words (full colour from {strongest:.2g})", fontsize=9, loc="left")
    axes.set_anchor("N")
    axes.set_xlabel("place of the attended word", fontsize=8.5)
    axes.set_ylabel("place of the attending word", fontsize=8.5)
    axes.tick_params(labelsize=8)


def _number(axes: Axes, matrix: np.ndarray, strongest: float) -> None:
    for row, column in np.ndindex(*matrix.shape):
        ink = "white" if matrix[row, column] > 0.55 * strongest else INK
        axes.text(column, row, f"{matrix[row, column]:.2f}", ha="center", va="center", fontsize=7, color=ink)


def _finish(figure: Figure, image: AxesImage, panels: list[Axes], what: str, title: str) -> None:
    figure.suptitle(f"{what}\n{clean_text(title, 200)}" if title else what, x=0.01, ha="left", **user_text(10.5))
    bar = figure.colorbar(image, ax=panels, shrink=0.7, pad=0.01, panchor=False)
    bar.set_label("weight; each full row sums to 1", fontsize=8)
    bar.ax.tick_params(labelsize=7.5)
