"""Output of predictions for single texts: tables on a terminal, JSON lines in a pipe, a page on request."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from src.files import write_text
from src.records.examples import Example
from src.report.section import Section
from src.report.words import clean_text, top_words


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
            console.print(prediction_table(example, top))


def write_predictions_page(examples: Sequence[Example], folder: Path) -> None:
    """Write `page.html` with each text's coloured words and word × word maps."""
    from src.report.html import render_html
    from src.report.run import MAP_NOTE, STRIP_NOTE, example_content

    section = Section("Texts", [example_content(each.title, each) for each in examples], f"{STRIP_NOTE} {MAP_NOTE}")
    write_text(folder / "page.html", render_html("Predictions", "", {"Texts": f"{len(examples):,}"}, [section]))


def prediction_table(example: Example, count: int) -> RenderableType:
    """Return the predicted class, the ten largest probabilities, and at most `count` most attended words."""
    likeliest = sorted(example.probabilities.items(), key=lambda item: -item[1])[:10]
    classes = Table("class", Column("probability", justify="right"), "", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, probability in likeliest:
        bar = Text("█" * round(10 * probability), style="blue")
        classes.add_row(Text(clean_text(name)), f"{probability:.3f}", bar)
    weight_column, position_column = (Column(name, justify="right") for name in ("weight", "position"))
    ranked = Table("most attended", weight_column, position_column, box=box.SIMPLE_HEAD, pad_edge=False)
    for position, word, weight in top_words(example.words, example.weights, count):
        ranked.add_row(Text(clean_text(word, 20)), f"{weight:.4f}", str(position + 1))
    side_by_side = Table.grid(padding=(0, 4))
    side_by_side.add_row(classes, ranked)
    return Group(Text(clean_text(likeliest[0][0]), style="bold"), side_by_side)


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
