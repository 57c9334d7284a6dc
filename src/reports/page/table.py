"""Tables; a chart table has a name, a dot on its interval and numbers in each row."""

from collections.abc import Sequence
from typing import NamedTuple

from src.reports.page.chart import Scale, axis_header, interval_chart
from src.reports.page.html import Html, Inside, tag


class TableRow(NamedTuple):
    """One row of a chart table."""

    name: Inside
    value: float | None  # None omits the chart
    low: float | None
    high: float | None
    cells: Sequence[Inside]
    kind: str = "plain"  # CSS class of the row


def chart_table(name: str, scale: Scale, heads: Sequence[str], rows: Sequence[TableRow], title: str) -> Html:
    """A table of rows with an interval chart in the second column.

    Args:
        name: header of the first column.
        scale: of the charts.
        heads: headers of the columns after the chart.
        rows: each with one cell for each of `heads`.
        title: text alternative of the chart for screen readers.
    """
    header = (
        tag("th", name, scope="col"),
        tag("th", axis_header(scale, title), scope="col", class_="chart"),
        *(tag("th", text, scope="col", class_="num") for text in heads),
    )
    body = (
        tag(
            "tr",
            tag("th", row.name, scope="row"),
            tag(
                "td", None if row.value is None else interval_chart(scale, row.value, row.low, row.high), class_="chart"
            ),
            *(tag("td", cell, class_="num") for cell in row.cells),
            class_=row.kind,
        )
        for row in rows
    )
    table = tag("table", tag("thead", tag("tr", *header)), tag("tbody", *body), class_="charted")
    return tag("div", table, class_="scroll")


def plain_table(
    heads: Sequence[str], rows: Sequence[Sequence[Inside]], numbers: Sequence[int] = (), kind: str | None = None
) -> Html:
    """A table with row headers in the first column; `numbers` are numeric columns, `kind` is the CSS class."""

    def column_class(column: int) -> str | None:
        return "num" if column in numbers else None

    header = [tag("th", text, scope="col", class_=column_class(column)) for column, text in enumerate(heads)]
    body = []
    for first, *others in rows:
        cells = (tag("td", text, class_=column_class(column)) for column, text in enumerate(others, 1))
        body.append(tag("tr", tag("th", first, scope="row"), *cells))
    table = tag("table", tag("thead", tag("tr", *header)), tag("tbody", *body), class_=kind)
    return tag("div", table, class_="scroll")
