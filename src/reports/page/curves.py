"""Loss and accuracy by epoch, training against validation."""

from collections.abc import Sequence

from src.reports.files import History
from src.reports.page.chart import Scale, dot, linear, lines, plot
from src.reports.page.html import Html, join, tag
from src.reports.page.selector import panes, picker

SCORES = {"acc": ("Accuracy", "share right"), "loss": ("Loss", "loss")}
SPLITS = {"train": "training", "val": "validation"}


def key() -> Html:
    """Which line is which."""
    entries = [tag("li", tag("i", class_=split), name) for split, name in SPLITS.items()]
    return tag("ul", *entries, class_="key")


def single_run(history: History) -> Html:
    """Both scores of one run, side by side."""
    scales = {score: _scales([history], score) for score in SCORES}
    charts = [_chart([history], score, scales[score], title) for score, (title, _) in SCORES.items() if scales[score]]
    return tag("div", key(), tag("div", *charts, class_="two"))


def many_runs(variants: Sequence[tuple[str, Sequence[History]]]) -> Html:
    """A small chart for each variant, a line for each of its runs, all on one scale; the score is picked."""
    every = [history for _, histories in variants for history in histories]
    grids = {}
    for score in SCORES:
        if scales := _scales(every, score):
            charts = [_chart(histories, score, scales, name) for name, histories in variants if histories]
            grids[score] = tag("div", *charts, class_="multiples")
    labels = {score: SCORES[score][0] for score in grids}
    return tag("div", tag("div", picker("curves", "Show", labels), key(), class_="pickers"), panes("curves", grids))


def _scales(histories: Sequence[History], score: str) -> tuple[Scale, Scale] | None:
    held = [by_epoch for history in histories for split in SPLITS if (by_epoch := history.get(f"{split}/{score}"))]
    if not held:
        return None
    epochs = [epoch for by_epoch in held for epoch in by_epoch]
    return linear(epochs, whole=True), linear(value for by_epoch in held for value in by_epoch.values())


def _chart(histories: Sequence[History], score: str, scales: tuple[Scale, Scale] | None, title: str) -> Html:
    if scales is None:
        return Html()
    x, y = scales
    drawn, dots, ends = [], [], []
    for split, name in SPLITS.items():
        curves = [sorted(by_epoch.items()) for history in histories if (by_epoch := history.get(f"{split}/{score}"))]
        drawn += [(split, curve) for curve in curves]
        # one epoch makes no line
        dots += [dot(x.at(at), y.down(value), "circle", split, name) for (at, value), *more in curves if not more]
        if curves:
            ends.append(f"{name} ends at {sum(curve[-1][1] for curve in curves) / len(curves):.3f}")
    what, unit = SCORES[score]
    said = f"{what} of {title} by epoch: {', '.join(ends)}"
    chart = plot(x, y, join(lines(x, y, drawn), *dots), across="epoch, from 0", up=unit, said=said)
    return tag("figure", tag("figcaption", title), chart)
