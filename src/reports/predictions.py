"""Output of predictions for single texts: tables on a terminal, JSON lines in a pipe, figures on request."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from src.analysis.explanation import Explanation
from src.reports.tables import prediction_table
from src.reports.words import clean_text, top_words


def print_predictions(
    texts: Sequence[str],
    explanations: Mapping[int, Explanation],
    class_names: Sequence[str],
    as_json: bool | None,
    top: int,
) -> None:
    """Print each text's predicted class, probabilities and most attended words.

    Args:
        explanations: explanations by text number, counted from 0; blank texts have no explanation.
        class_names: the classes in the order of the probabilities.
        as_json: True prints one JSON object per text, on its own line, and False prints tables; None prints JSON in a
            pipe and tables on a terminal.
        top: maximum number of most attended words to print.
    """
    console = Console()
    is_ascii = not sys.stdout.encoding.lower().startswith("utf")
    for number, text in enumerate(texts):
        explanation = explanations.get(number)
        if as_json or (as_json is None and not sys.stdout.isatty()):
            print(json.dumps(_record(text, explanation, class_names, top), ensure_ascii=is_ascii))
        elif explanation is None:
            console.print(Text("(blank text: no prediction)", style="dim"))
        else:
            console.print(Text(f"“{clean_text(text, 200)}”", style="dim"))
            probabilities, weights = np.array(explanation.probabilities), np.array(explanation.weights)
            console.print(prediction_table(class_names, probabilities, explanation.words, weights, top))


def draw_predictions(explanations: Mapping[int, Explanation], folder: Path) -> list[Path]:
    """Draw a strip of coloured words for each text and, if it has word × word weights, heat maps; return the paths.

    The heat maps show the mean over heads and, if there are several heads, each head.
    """
    from src.reports.figures.heatmap import draw_maps
    from src.reports.figures.strip import draw_strip
    from src.reports.figures.style import save_figure

    paths = []
    for number, explanation in explanations.items():
        title = f"text {number}: {explanation.predicted} ({max(explanation.probabilities):.2f})"
        title += f", {explanation.cut}" if explanation.cut else ""
        strip = draw_strip(explanation.words, np.array(explanation.weights), title)
        figures = {"strip": strip, **draw_maps(explanation.words, explanation.matrix, title)}
        paths += [save_figure(figure, folder / f"{name}_{number}.png") for name, figure in figures.items()]
    return paths


def _record(text: str, explanation: Explanation | None, class_names: Sequence[str], top: int) -> dict[str, object]:
    if explanation is None:
        return dict.fromkeys(("text", "label", "probabilities", "words", "only_unknown")) | {"text": text}
    probabilities = [round(probability, 6) for probability in explanation.probabilities]
    return {
        "text": text,
        "label": explanation.predicted,
        "probabilities": dict(zip(class_names, probabilities, strict=True)),
        "words": [
            {"word": word, "weight": round(weight, 6)}
            for _, word, weight in top_words(explanation.words, np.array(explanation.weights), top)
        ],
        "only_unknown": explanation.is_unknown,
    }
