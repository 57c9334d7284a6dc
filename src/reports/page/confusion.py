"""The confusion matrix as a table."""

from collections.abc import Sequence

import numpy as np

from src.reports.page.html import Html, tag
from src.reports.tables import UNKNOWN

MAX_CLASSES = 12  # with more classes, the table lists the most frequent confusions
MAX_CONFUSIONS = 15


def confusion_table(counts: np.ndarray, names: Sequence[str], title: str) -> Html:
    """Counts C×C, true class by row, coloured by fraction of the row; with many classes the most frequent errors."""
    body = _matrix(counts, names) if len(names) <= MAX_CLASSES else _most_frequent(counts, names)
    return tag("div", tag("table", tag("caption", title), *body, class_="confusion"), class_="scroll")


def _matrix(counts: np.ndarray, names: Sequence[str]) -> list[Html]:
    header = tag("tr", tag("td"), tag("th", "predicted", scope="colgroup", colspan=len(names)))
    columns = [tag("th", name, scope="col") for name in names]
    rows = []
    for name, row in zip(names, counts.tolist(), strict=True):
        total = sum(row)
        cells = []
        for count in row:
            fraction = count / total if total else 0.0
            percent = tag("small", f"{fraction:.1%}" if total else UNKNOWN)
            cells.append(tag("td", f"{count:,}", percent, class_="heat", style=f"--w:{fraction:.3f}"))
        rows.append(tag("tr", tag("th", name, scope="row"), *cells))
    return [tag("thead", header, tag("tr", tag("th", "true", scope="col"), *columns)), tag("tbody", *rows)]


def _most_frequent(counts: np.ndarray, names: Sequence[str]) -> list[Html]:
    wrong = counts * ~np.eye(len(counts), dtype=bool)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_CONFUSIONS]
    rows = []
    for true, predicted in zip(*np.unravel_index(order, wrong.shape), strict=True):
        if count := int(wrong[true, predicted]):
            fraction = count / int(counts[true].sum())
            cells = (tag("td", names[predicted]), tag("td", f"{count:,}"), tag("td", f"{fraction:.1%}"))
            rows.append(tag("tr", tag("th", names[true], scope="row"), *cells))
    columns = ("true", "predicted", "texts", "fraction of the true class")
    return [tag("thead", tag("tr", *(tag("th", column, scope="col") for column in columns))), tag("tbody", *rows)]
