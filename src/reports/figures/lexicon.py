"""The words that attention weighs most over a whole split, and which of them a lexicon lists."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from src.reports.figures.style import COLOURS, GREY, name_axes, new_figure, user_text
from src.reports.words import clean_text

KINDS = {"positive": COLOURS[0], "negative": COLOURS[1], "not in the lexicon": "#c7ccd4"}


def draw_lexicon(found: dict[str, Any]) -> Figure:
    """A bar for each of the heaviest words, as long as its mean weight in even shares.

    Args:
        found: what `lexicon.json` holds.
    """
    words = found["words"]
    figure = new_figure(7, 1.6 + 0.17 * len(words))
    axes = figure.subplots()
    strengths = [0.0 if word["strength"] is None else word["strength"] for word in words]
    kinds = ["positive" if s > 0 else "negative" if s < 0 else "not in the lexicon" for s in strengths]
    axes.barh(range(len(words)), [word["lift"] for word in words], 0.75, color=[KINDS[kind] for kind in kinds])
    axes.axvline(1, color=GREY, linestyle="--", linewidth=1)
    ratio = f"{found['ratio']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
    name_axes(
        axes,
        f"Lexicon words get {ratio} times their share of the weight, {found['texts']:,} texts",
        "mean weight of an occurrence, 1 is an even share",
        "",
    )
    axes.set_yticks(range(len(words)), [clean_text(word["word"]) for word in words], **user_text(7.5))
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.grid(False, axis="y")
    used = [kind for kind in KINDS if kind in kinds]
    axes.legend([Patch(color=KINDS[kind]) for kind in used], used, fontsize=8, frameon=False, loc="lower right")
    return figure
