"""Loss and accuracy by epoch, for training and validation."""

from collections.abc import Sequence
from typing import NamedTuple

from src.records.files import History
from src.reports.page.chart import Scale, linear_scale

SCORES = {"acc": ("Accuracy", "accuracy"), "loss": ("Loss", "loss")}
SPLITS = {"train": "training", "val": "validation"}


class CurveChart(NamedTuple):
    """A score by epoch with a line for each run and split."""

    title: str
    label: str  # label of the vertical axis
    description: str  # description for screen readers
    x: Scale
    y: Scale
    lines: list[tuple[str, str]]  # split, points (in per cent of the chart)
    dots: list[tuple[str, float, float, str]]  # split, left, top, tooltip; a dot replaces a line of one point


def run_curves(history: History) -> list[CurveChart]:
    """Return the charts of accuracy and loss of one run, each with its own scale."""
    return [chart for score, (title, _) in SCORES.items() for chart in _charts([(title, [history])], score)]


def variant_curves(variants: Sequence[tuple[str, Sequence[History]]]) -> dict[str, list[CurveChart]]:
    """Return, for each score, one chart per variant with histories; the charts of a score share their scales."""
    return {score: charts for score in SCORES if (charts := _charts(variants, score))}


def _charts(variants: Sequence[tuple[str, Sequence[History]]], score: str) -> list[CurveChart]:
    histories = [history for _, variant_histories in variants for history in variant_histories]
    curves = [by_epoch for history in histories for split in SPLITS if (by_epoch := history.get(f"{split}/{score}"))]
    if not curves:
        return []
    x = linear_scale((epoch for by_epoch in curves for epoch in by_epoch), whole=True)
    y = linear_scale(value for by_epoch in curves for value in by_epoch.values())
    return [_chart(histories, score, x, y, title) for title, histories in variants if histories]


def _chart(histories: Sequence[History], score: str, x: Scale, y: Scale, title: str) -> CurveChart:
    lines, dots, final_values = [], [], []
    for split, name in SPLITS.items():
        curves = [sorted(by_epoch.items()) for history in histories if (by_epoch := history.get(f"{split}/{score}"))]
        for curve in curves:
            points = [(x.position(epoch), y.from_top(value)) for epoch, value in curve]
            lines.append((split, " ".join(f"{left},{top}" for left, top in points)))
            dots += [(split, left, top, name) for left, top in points if len(points) == 1]
        if curves:
            final_values.append(f"{name} ends at {sum(curve[-1][1] for curve in curves) / len(curves):.3f}")
    score_name, label = SCORES[score]
    subject = score_name if title == score_name else f"{score_name} of {title}"
    description = f"{subject} by epoch: {', '.join(final_values)}"
    return CurveChart(title, label, description, x, y, lines, dots)
