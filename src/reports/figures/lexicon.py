"""The most attended words of a split and their sentiment in a lexicon."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from src.reports.figures.style import COLOURS, GREY, name_axes, new_figure, user_text
from src.reports.words import clean_text

KINDS = {"positive": COLOURS[0], "negative": COLOURS[1], "not in the lexicon": "#c7ccd4"}


def draw_lexicon(statistics: dict[str, Any]) -> Figure:
    """Draw the mean weight of the most attended words in multiples of the uniform weight.

    Args:
        statistics: content of `lexicon.json`.
    """
    words = statistics["words"]
    figure = new_figure(7, 1.6 + 0.17 * len(words))
    axes = figure.subplots()
    strengths = [0.0 if word["strength"] is None else word["strength"] for word in words]
    kinds = ["positive" if s > 0 else "negative" if s < 0 else "not in the lexicon" for s in strengths]
    axes.barh(range(len(words)), [word["lift"] for word in words], 0.75, color=[KINDS[kind] for kind in kinds])
    axes.axvline(1, color=GREY, linestyle="--", linewidth=1)
    ratio = f"{statistics['ratio']:.2f} ({statistics['low']:.2f} to {statistics['high']:.2f})"
    name_axes(
        axes,
        f"Weight of lexicon words: {ratio} × uniform, {statistics['texts']:,} texts",
        "mean attention weight of an occurrence / uniform weight",
        "",
    )
    axes.set_yticks(range(len(words)), [clean_text(word["word"]) for word in words], **user_text(7.5))
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.grid(False, axis="y")
    used = [kind for kind in KINDS if kind in kinds]
    axes.legend([Patch(color=KINDS[kind]) for kind in used], used, fontsize=8, frameon=False, loc="lower right")
    return figure
