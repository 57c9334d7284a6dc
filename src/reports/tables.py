"""Tables of results for a terminal, readable without colour and at 80 columns."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from src.reports.words import clean_text, top_words

if TYPE_CHECKING:
    from src.run_result import ClassScore, Score

UNKNOWN = "\N{EN DASH}"
SPLITS = {"test": "test", "val": "validation"}
MAX_CLASSES = 20  # maximum number of rows in the table of classes
NOTE = (
    "Intervals over texts. majority_acc: accuracy of always predicting the most frequent training class. "
    f"{UNKNOWN}: the value is not defined for these texts, or its interval is not, because all texts agree."
)


def format_known(value: float | None, form: str = "{:.3f}") -> str:
    """Format a number; return UNKNOWN for None."""
    return UNKNOWN if value is None else form.format(value)


def metric_table(metrics: "Mapping[str, Score]", title: str = "") -> Table:
    """Return a table of metrics by name, such as test/acc; only the first split, usually test, has intervals."""
    splits = sorted({name.partition("/")[0] for name in metrics})  # test, val
    main, others = splits[:1], splits[1:]
    sizes = {split: max(score.n or 0 for name, score in metrics.items() if _is_of(name, split)) for split in splits}
    counts = ", ".join(f"{SPLITS.get(split, split)} {n:,}" for split, n in sizes.items())
    table = _table(title, f"Texts: {counts}. {NOTE}", "metric")
    for column in ("value", "95 % interval", *(SPLITS.get(split, split) for split in others)):
        table.add_column(column, justify="right", no_wrap=True)
    for name, score in metrics.items():
        if not _is_of(name, *main):
            continue
        interval = UNKNOWN if score.low is None else f"{format_known(score.low)} to {format_known(score.high)}"
        beside = [metrics.get(f"{split}/{name.partition('/')[2]}") for split in others]
        values = [score.value, *(other.value if other else None for other in beside)]
        value, *other_values = map(format_known, values)
        table.add_row(*map(Text, (name, value, interval, *other_values)))
    return table


def class_table(classes: "Mapping[str, ClassScore]", split: str) -> Table:
    """Return a table of precision, recall, F1 and number of texts for the (at most) 20 classes with the lowest F1."""
    caption = None
    shown = sorted(classes, key=lambda name: -1 if (f1 := classes[name].f1) is None else f1)[:MAX_CLASSES]
    if len(classes) > MAX_CLASSES:
        caption = f"The {MAX_CLASSES} of {len(classes)} classes with the lowest F1; result.json contains all classes."
    table = _table(f"Classes, {SPLITS.get(split, split)}", caption, "class")
    for column in ("precision", "recall", "F1", "texts"):
        table.add_column(column, justify="right", no_wrap=True)
    for name in shown if caption else classes:
        scores = classes[name]
        numbers = map(format_known, (scores.precision, scores.recall, scores.f1))
        table.add_row(*map(Text, (clean_text(name, 40), *numbers, f"{scores.support or 0:,}")))
    return table


def prediction_table(
    class_names: Sequence[str], probabilities: np.ndarray, words: Sequence[str], weights: np.ndarray, count: int = 10
) -> RenderableType:
    """Return the predicted class of a text, the ten largest probabilities, and at most `count` most attended words.

    Args:
        probabilities: C probabilities, which sum to 1.
        weights: L weights, one for each word.
    """
    likeliest = np.argsort(-probabilities, kind="stable")[:10]
    classes = Table("class", _right("probability"), "", box=box.SIMPLE_HEAD, pad_edge=False)
    for index in likeliest:
        probability = float(probabilities[index])
        bar = Text("█" * round(10 * probability), style="blue")
        classes.add_row(Text(clean_text(class_names[index])), f"{probability:.3f}", bar)
    ranked = Table("most attended", _right("weight"), _right("position"), box=box.SIMPLE_HEAD, pad_edge=False)
    for position, word, weight in top_words(words, weights, count):
        ranked.add_row(Text(clean_text(word, 20)), f"{weight:.4f}", str(position + 1))
    side_by_side = Table.grid(padding=(0, 4))
    side_by_side.add_row(classes, ranked)
    return Group(Text(clean_text(class_names[likeliest[0]]), style="bold"), side_by_side)


def files_table(folder: Path, paths: Iterable[Path]) -> RenderableType:
    """Return a list of written files: the folder on the first line, then the files by subfolder."""
    by_folder: dict[str, list[str]] = {}
    for path in sorted(paths, key=lambda path: (path.parent != folder, path)):
        subfolder = path.relative_to(folder).parent
        by_folder.setdefault("" if subfolder == Path() else f"{subfolder.as_posix()}/", []).append(path.name)
    table = Table.grid(padding=(0, 2, 0, 0))
    for prefix, names in by_folder.items():
        table.add_row(Text(f"  {prefix}"), Text("  ".join(names)))
    return Group(Text(f"Written to {folder}/", overflow="fold"), table)


def _table(title: str, caption: str | None, first: str) -> Table:
    table = Table(
        Column(first, no_wrap=True), title=Text(title) if title else None, caption=caption, box=box.SIMPLE_HEAD
    )
    table.title_justify = table.caption_justify = "left"
    return table


def _is_of(name: str, split: str) -> bool:
    return name.startswith(f"{split}/")


def _right(header: str) -> Column:
    return Column(header, justify="right")
