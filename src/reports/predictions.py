"""Predictions for single texts: tables on a terminal, JSON lines in a pipe, pictures on request."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from src.explain import Explained
from src.reports.pictures.heatmap import draw_heatmap
from src.reports.pictures.strip import draw_strip
from src.reports.pictures.style import save
from src.reports.tables import prediction_table
from src.reports.words import plain


def show(
    texts: Sequence[str],
    explained: Sequence[Explained],
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
    for text, said in zip(texts, explained, strict=True):
        if as_json or (as_json is None and not sys.stdout.isatty()):
            print(json.dumps(_record(text, said, class_names, top), ensure_ascii=False))
        else:
            console.print(Text(f"“{plain(text, 200)}”", style="dim"))
            console.print(
                prediction_table(class_names, np.array(said.probabilities), said.words, np.array(said.weights))
            )


def draw(explained: Sequence[Explained], folder: Path) -> list[Path]:
    """A strip for each text, and a heat-map where words attend to words; returns what was written."""
    written = []
    for number, said in enumerate(explained):
        title = f"text {number}: {said.predicted} ({max(said.probabilities):.2f})"
        written.append(save(draw_strip(said.words, np.array(said.weights), title), folder / f"strip_{number}.png"))
        if said.matrix is not None:
            picture = draw_heatmap(said.words, np.array(said.matrix), title)
            written.append(save(picture, folder / f"heatmap_{number}.png"))
    return written


def _record(text: str, said: Explained, class_names: Sequence[str], top: int) -> dict[str, object]:
    return {
        "text": text,
        "label": said.predicted,
        "probabilities": dict(zip(class_names, said.probabilities, strict=True)),
        "words": [{"word": word, "weight": weight} for word, weight in said.top(top)],
    }
