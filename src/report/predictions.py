"""Output of predictions for single texts: tables on a terminal, JSON lines in a pipe, a page on request."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from src.files import write_text
from src.records.examples import Example
from src.report.section import Section, Table
from src.report.terminal import render_terminal
from src.report.words import MAP_NOTE, STRIP_NOTE, clean_text, example_content, top_words, words_table


def print_predictions(texts: Sequence[str], examples: Mapping[int, Example], as_json: bool | None, top: int) -> None:
    """Print each text's predicted class, probabilities and most attended words.

    Args:
        examples: predictions by text number, counted from 0; blank texts have none.
        as_json: True prints one JSON object per text, on its own line, and False prints tables; None prints JSON in a
            pipe and tables on a terminal.
        top: maximum number of most attended words to print.
    """
    console = Console()
    is_ascii = not sys.stdout.encoding.lower().startswith("utf")
    for number, text in enumerate(texts):
        example = examples.get(number)
        if as_json or (as_json is None and not sys.stdout.isatty()):
            print(json.dumps(_record(text, example, top), ensure_ascii=is_ascii))
        elif example is None:
            console.print(Text("(blank text: no prediction)", style="dim"))
        else:
            console.print(Text(f"“{clean_text(text, 200)}”", style="dim"))
            console.print(render_terminal([prediction_section(example, top)]))


def write_predictions_page(examples: Sequence[Example], folder: Path) -> None:
    """Write `page.html` with each text's coloured words and word × word maps."""
    from src.report.html import render_html  # imports matplotlib

    section = Section("Texts", [example_content(each) for each in examples], f"{STRIP_NOTE} {MAP_NOTE}")
    write_text(folder / "page.html", render_html("Predictions", "", {"Texts": f"{len(examples):,}"}, [section]))


def prediction_section(example: Example, count: int) -> Section:
    """Return the predicted class, the ten largest probabilities, and at most `count` most attended words."""
    likeliest = sorted(example.probabilities.items(), key=lambda item: -item[1])[:10]
    classes = [[clean_text(name), f"{probability:.3f}"] for name, probability in likeliest]
    return Section(classes[0][0], [Table(["class", "probability"], classes), words_table(example, count)])


def _record(text: str, example: Example | None, top: int) -> dict[str, object]:
    if example is None:
        return {"text": text, "label": None, "probabilities": None, "words": None, "only_unknown": None}
    ranked = top_words(example.words, example.weights, top)
    return {
        "text": text,
        "label": example.predicted,
        "probabilities": {name: round(value, 6) for name, value in example.probabilities.items()},
        "words": [{"word": word, "weight": round(weight, 6)} for _, word, weight in ranked],
        "only_unknown": example.is_unknown,
    }
