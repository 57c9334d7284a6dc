"""Predictions for single texts: tables on a terminal, JSON lines in a pipe, pictures on request."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from src.analysis.explanation import Explanation
from src.reports.tables import prediction_table
from src.reports.words import clean_text


def print_predictions(
    texts: Sequence[str],
    explained: Sequence[Explanation],
    class_names: Sequence[str],
    as_json: bool | None,
    top: int,
) -> None:
    """Print each text's label, probabilities and most attended words.

    Args:
        texts: as they were given.
        explained: the prediction for each.
        class_names: the classes in the order of the probabilities.
        as_json: one JSON object a line; None: so in a pipe, tables on a terminal.
        top: most attended words to show.
    """
    console = Console()
    is_ascii = not sys.stdout.encoding.lower().startswith("utf")
    for text, said in zip(texts, explained, strict=True):
        if as_json or (as_json is None and not sys.stdout.isatty()):
            print(json.dumps(_record(text, said, class_names, top), ensure_ascii=is_ascii))
        else:
            console.print(Text(f"“{clean_text(text, 200)}”", style="dim"))
            probabilities, weights = np.array(said.probabilities), np.array(said.weights)
            console.print(prediction_table(class_names, probabilities, said.words, weights, top))


def draw_predictions(explained: Sequence[Explanation], folder: Path) -> list[Path]:
    """A strip for each text; where words attend to words also a heat-map, and one for each head of several.

    Returns:
        What was written.
    """
    from src.reports.figures.heatmap import draw_heads, draw_heatmap
    from src.reports.figures.strip import draw_strip
    from src.reports.figures.style import save_figure

    written = []
    for number, said in enumerate(explained):
        title = f"text {number}: {said.predicted} ({max(said.probabilities):.2f})"
        pictures = {"strip": draw_strip(said.words, np.array(said.weights), title)}
        if said.matrix is not None:
            pictures["heatmap"] = draw_heatmap(said.words, said.matrix, title)
            if len(said.matrix) > 1:
                pictures["heads"] = draw_heads(said.words, said.matrix, title)
        written += [save_figure(picture, folder / f"{name}_{number}.png") for name, picture in pictures.items()]
    return written


def _record(text: str, said: Explanation, class_names: Sequence[str], top: int) -> dict[str, object]:
    shares = [round(share, 6) for share in said.probabilities]
    return {
        "text": text,
        "label": said.predicted,
        "probabilities": dict(zip(class_names, shares, strict=True)),
        "words": [{"word": word, "weight": round(weight, 6)} for word, weight in said.top(top)],
    }
