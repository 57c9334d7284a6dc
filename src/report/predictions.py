"""Output of predictions for single texts: tables on a terminal, JSON lines in a pipe, a page on request."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from src.explain.explanation import Explanation
from src.files import write_text
from src.records.examples import Example
from src.report.section import Section
from src.report.words import clean_text, top_words


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


def write_predictions_page(explanations: Mapping[int, Explanation], class_names: Sequence[str], folder: Path) -> Path:
    """Write `page.html` with each text's coloured words and word × word maps, and return its path."""
    from src.report.html import render_html
    from src.report.run import MAP_NOTE, STRIP_NOTE, example_content

    groups = []
    for number, explanation in explanations.items():
        example = Example(
            "text",
            number,
            None,
            explanation.predicted,
            dict(zip(class_names, explanation.probabilities, strict=True)),
            explanation.words,
            np.array(explanation.weights),
            explanation.matrix,
            explanation.cut,
            explanation.layers,
        )
        groups.append(example_content(example.title, example))
    path = folder / "page.html"
    section = Section("Texts", groups, f"{STRIP_NOTE} {MAP_NOTE}")
    write_text(path, render_html("Predictions", "", {"Texts": f"{len(groups):,}"}, [section]))
    return path


def prediction_table(
    class_names: Sequence[str], probabilities: np.ndarray, words: Sequence[str], weights: np.ndarray, count: int = 10
) -> RenderableType:
    """Return the predicted class of a text, the ten largest probabilities, and at most `count` most attended words.

    Args:
        probabilities: C probabilities, which sum to 1.
        weights: L weights, one for each word.
    """
    likeliest = np.argsort(-probabilities, kind="stable")[:10]
    classes = Table("class", Column("probability", justify="right"), "", box=box.SIMPLE_HEAD, pad_edge=False)
    for index in likeliest:
        probability = float(probabilities[index])
        bar = Text("█" * round(10 * probability), style="blue")
        classes.add_row(Text(clean_text(class_names[index])), f"{probability:.3f}", bar)
    weight_column, position_column = (Column(name, justify="right") for name in ("weight", "position"))
    ranked = Table("most attended", weight_column, position_column, box=box.SIMPLE_HEAD, pad_edge=False)
    for position, word, weight in top_words(words, weights, count):
        ranked.add_row(Text(clean_text(word, 20)), f"{weight:.4f}", str(position + 1))
    side_by_side = Table.grid(padding=(0, 4))
    side_by_side.add_row(classes, ranked)
    return Group(Text(clean_text(class_names[likeliest[0]]), style="bold"), side_by_side)


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
