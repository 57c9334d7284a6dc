from src.reports.page.curves import CurveChart, run_curves, variant_curves
from src.reports.page.document import macro
from tests.reports.page.reader import Reader


def history(*accuracy: float) -> dict[str, dict[int, float]]:
    return {"train/acc": dict(enumerate(accuracy)), "val/acc": dict(enumerate(accuracy))}


def render_charts(charts: list[CurveChart]) -> Reader:
    return Reader("".join(map(macro("curve_chart"), charts)))


def test_a_line_has_the_positions_of_its_values() -> None:
    (chart,) = run_curves({"val/acc": {0: 0.25, 1: 1.0}})
    (line,) = render_charts([chart]).all("polyline")
    points = [f"{chart.x.position(epoch)},{chart.y.from_top(value)}" for epoch, value in ((0, 0.25), (1, 1.0))]
    assert line.attributes["points"] == " ".join(points)
    assert line.attributes["class"] == "val"
    assert chart.description == "Accuracy by epoch: validation ends at 1.000"


def test_each_run_and_split_has_a_line_on_one_scale() -> None:
    variants = [("<a>", [history(0.5, 0.6), history(0.5, 0.9)]), ("b", [history(0.7, 0.8)])]
    charts = variant_curves(variants)["acc"]
    assert len({(chart.x, chart.y) for chart in charts}) == 1
    reader = render_charts(charts)
    lines = reader.all("polyline")
    assert len(lines) == 2 * 3
    assert len({line.attributes["points"] for line in lines}) == 3
    assert [text for tag, text in reader.texts if tag == "figcaption"] == ["<a>", "b"]
    description = reader.all("svg")[0].attributes["aria-label"]
    assert description == "Accuracy of <a> by epoch: training ends at 0.750, validation ends at 0.750"


def test_a_single_epoch_is_a_dot() -> None:
    assert len(render_charts(run_curves(history(0.5))).all("circle")) == 2
    assert render_charts(run_curves(history(0.5, 0.6))).all("circle") == []


def test_a_variant_without_curves_is_omitted() -> None:
    reader = render_charts(variant_curves([("a", [history(0.5)]), ("b", [])])["acc"])
    assert len(reader.all("figure")) == 1
