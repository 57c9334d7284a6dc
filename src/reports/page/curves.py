"""Loss and accuracy by epoch, training against validation."""

from collections.abc import Sequence

from src.reports.files import History
from src.reports.page.chart import Scale, dot, linear_scale, lines, plot
from src.reports.page.html import Html, join, tag
from src.reports.page.selector import panes, picker

SCORES = {"acc": ("Accuracy", "accuracy"), "loss": ("Loss", "loss")}
SPLITS = {"train": "training", "val": "validation"}


def legend() -> Html:
    """The legend: one line style for each split."""
    entries = [tag("li", tag("i", class_=split), name) for split, name in SPLITS.items()]
    return tag("ul", *entries, class_="key")


def run_curves(history: History) -> Html:
    """Both scores of one run, side by side."""
    scales = {score: _scales([history], score) for score in SCORES}
    charts = [_chart([history], score, scales[score], title) for score, (title, _) in SCORES.items() if scales[score]]
    return tag("div", legend(), tag("div", *charts, class_="two"))


def variant_curves(variants: Sequence[tuple[str, Sequence[History]]]) -> Html:
    """A small chart for each variant with a line for each run, all on one scale; the reader selects the score."""
    all_histories = [history for _, histories in variants for history in histories]
    grids = {}
    for score in SCORES:
        if scales := _scales(all_histories, score):
            charts = [_chart(histories, score, scales, name) for name, histories in variants if histories]
            grids[score] = tag("div", *charts, class_="multiples")
    labels = {score: SCORES[score][0] for score in grids}
    return tag("div", tag("div", picker("curves", "Show", labels), legend(), class_="pickers"), panes("curves", grids))


def _scales(histories: Sequence[History], score: str) -> tuple[Scale, Scale] | None:
    curves = [by_epoch for history in histories for split in SPLITS if (by_epoch := history.get(f"{split}/{score}"))]
    if not curves:
        return None
    epochs = [epoch for by_epoch in curves for epoch in by_epoch]
    return linear_scale(epochs, whole=True), linear_scale(value for by_epoch in curves for value in by_epoch.values())


def _chart(histories: Sequence[History], score: str, scales: tuple[Scale, Scale] | None, title: str) -> Html:
    if scales is None:
        return Html()
    x, y = scales
    polylines, dots, final_values = [], [], []
    for split, name in SPLITS.items():
        curves = [sorted(by_epoch.items()) for history in histories if (by_epoch := history.get(f"{split}/{score}"))]
        polylines += [(split, curve) for curve in curves]
        # a line needs two epochs
        dots += [
            dot(x.position(epoch), y.from_top(value), "circle", split, name)
            for (epoch, value), *rest in curves
            if not rest
        ]
        if curves:
            final_values.append(f"{name} ends at {sum(curve[-1][1] for curve in curves) / len(curves):.3f}")
    score_name, label = SCORES[score]
    description = f"{score_name} of {title} by epoch: {', '.join(final_values)}"
    chart = plot(
        x, y, join(lines(x, y, polylines), *dots), x_label="epoch (from 0)", y_label=label, description=description
    )
    return tag("figure", tag("figcaption", title), chart)
