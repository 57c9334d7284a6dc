"""Tables of results for a terminal (readable without colour and at 80 columns) and in Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from src.reports.words import clean_text, top_words

if TYPE_CHECKING:  # predictions start faster without scipy
    from src.analysis.metrics import Metric

UNKNOWN = "\N{EN DASH}"
NOTE = (
    "Intervals: Wilson for acc and the micro scores, 1,000 bootstrap resamples of the texts for the others. "
    f"{UNKNOWN}: not defined for these texts, or equal in all resamples."
)


def metric_table(metrics: "Mapping[str, Metric]", title: str = "") -> Table:
    """A table of scores with value, 95 % interval and number of texts."""
    table = Table(title=Text(title) if title else None, caption=NOTE, box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column == "metric" else "right", no_wrap=True)
    for row in _rows(metrics):
        table.add_row(*map(Text, row))
    return table


def metric_markdown(metrics: "Mapping[str, Metric]") -> str:
    """The table of scores in Markdown, ending with a newline."""
    lines = [_COLUMNS, ("---", *["---:"] * (len(_COLUMNS) - 1)), *_rows(metrics)]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def prediction_table(
    class_names: Sequence[str],
    probabilities: np.ndarray,
    words: Sequence[str],
    weights: np.ndarray,
    count: int = 10,
) -> RenderableType:
    """The predicted class of a text, its ten largest probabilities and its most attended words.

    Args:
        class_names: C names.
        probabilities: C, summing to 1.
        words: L words.
        weights: L weights, one for each word.
        count: maximum number of words.
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
    """The files that a run wrote: its folder on the first line, then the files by subfolder."""
    by_folder: dict[str, list[str]] = {}
    for path in sorted(paths, key=lambda path: (path.parent != folder, path)):
        subfolder = path.relative_to(folder).parent
        by_folder.setdefault("" if subfolder == Path() else f"{subfolder.as_posix()}/", []).append(path.name)
    table = Table.grid(padding=(0, 2, 0, 0))
    for prefix, names in by_folder.items():
        table.add_row(Text(f"  {prefix}"), Text("  ".join(names)))
    return Group(Text(f"Written to {folder}/", overflow="fold"), table)


_COLUMNS = ("metric", "value", "95 % interval", "n")


def _rows(metrics: "Mapping[str, Metric]") -> list[tuple[str, str, str, str]]:
    rows = []
    for name, (value, low, high, n) in metrics.items():
        interval = UNKNOWN if low is None else f"{_number(low)} to {_number(high)}"
        rows.append((name, _number(value), interval, f"{n:,}"))
    return rows


def _right(header: str) -> Column:
    return Column(header, justify="right")


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3f}"
