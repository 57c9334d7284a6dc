"""Tables with a chart in their second column: a name, a dot on its interval, and numbers."""

from collections.abc import Sequence
from typing import NamedTuple

from src.reports.page.chart import Scale, axis_header, interval_chart
from src.reports.page.html import Html, Inside, tag


class TableRow(NamedTuple):
    """One row."""

    name: Inside
    value: float | None  # None: nothing is drawn
    low: float | None
    high: float | None
    cells: Sequence[Inside]
    kind: str = "plain"  # class of the row


def chart_table(name: str, scale: Scale, heads: Sequence[str], rows: Sequence[TableRow], title: str) -> Html:
    """A table of these rows in their order.

    Args:
        name: heads the first column.
        scale: of the charts.
        heads: of the columns behind the chart.
        rows: each with a cell for each of the heads.
        title: what the chart shows, for those who cannot see it.
    """
    above = (
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
    table = tag("table", tag("thead", tag("tr", *above)), tag("tbody", *body), class_="charted")
    return tag("div", table, class_="scroll")


def plain_table(
    heads: Sequence[str], rows: Sequence[Sequence[Inside]], numbers: Sequence[int] = (), kind: str | None = None
) -> Html:
    """A table whose first column heads its rows; columns at `numbers` are aligned as numbers, `kind` is its class."""

    def aligned(at: int) -> str | None:
        return "num" if at in numbers else None

    above = [tag("th", text, scope="col", class_=aligned(at)) for at, text in enumerate(heads)]
    body = []
    for first, *others in rows:
        cells = (tag("td", text, class_=aligned(at)) for at, text in enumerate(others, 1))
        body.append(tag("tr", tag("th", first, scope="row"), *cells))
    table = tag("table", tag("thead", tag("tr", *above)), tag("tbody", *body), class_=kind)
    return tag("div", table, class_="scroll")
