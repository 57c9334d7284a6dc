"""Which classes are taken for which, as a table."""

from collections.abc import Sequence

import numpy as np

from src.reports.page.html import Html, tag
from src.reports.tables import UNKNOWN

WHOLE = 12  # classes; of more, the table lists the likeliest confusions alone
LISTED = 15


def confusion_table(counts: np.ndarray, names: Sequence[str], title: str) -> Html:
    """Counts C×C, true class by row, coloured by their share of the row; of many classes the worst confusions."""
    body = _whole(counts, names) if len(names) <= WHOLE else _worst(counts, names)
    return tag("div", tag("table", tag("caption", title), *body, class_="confusion"), class_="scroll")


def _whole(counts: np.ndarray, names: Sequence[str]) -> list[Html]:
    above = tag("tr", tag("td"), tag("th", "predicted", scope="colgroup", colspan=len(names)))
    head = [tag("th", name, scope="col") for name in names]
    rows = []
    for name, row in zip(names, counts.tolist(), strict=True):
        total = sum(row)
        cells = []
        for count in row:
            share = count / total if total else 0.0
            said = f"{share:.1%}" if total else UNKNOWN
            inside = (f"{count:,}", tag("small", said))
            cells.append(tag("td", *inside, class_="heat", style=f"--w:{share:.3f}"))
        rows.append(tag("tr", tag("th", name, scope="row"), *cells))
    return [tag("thead", above, tag("tr", tag("th", "true", scope="col"), *head)), tag("tbody", *rows)]


def _worst(counts: np.ndarray, names: Sequence[str]) -> list[Html]:
    wrong = counts * ~np.eye(len(counts), dtype=bool)
    order = np.argsort(-wrong, axis=None, kind="stable")[:LISTED]
    rows = []
    for true, predicted in zip(*np.unravel_index(order, wrong.shape), strict=True):
        if count := int(wrong[true, predicted]):
            share = count / int(counts[true].sum())
            cells = (tag("td", names[predicted]), tag("td", f"{count:,}"), tag("td", f"{share:.1%}"))
            rows.append(tag("tr", tag("th", names[true], scope="row"), *cells))
    heads = ("true", "taken for", "texts", "of the true class")
    return [tag("thead", tag("tr", *(tag("th", head, scope="col") for head in heads))), tag("tbody", *rows)]
