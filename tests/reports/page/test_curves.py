from src.reports.page.curves import run_curves, variant_curves
from tests.reports.page.reader import Reader


def history(*accuracy: float) -> dict[str, dict[int, float]]:
    return {"train/acc": dict(enumerate(accuracy)), "val/acc": dict(enumerate(accuracy))}


def test_line_for_each_run_and_split_on_one_scale() -> None:
    reader = Reader(variant_curves([("<a>", [history(0.5, 0.6), history(0.5, 0.9)]), ("b", [history(0.7, 0.8)])]))
    lines = reader.all("polyline")
    assert len(lines) == 2 * 3
    assert len({line.attributes["points"] for line in lines}) == 3
    assert [text for tag, text in reader.texts if tag == "figcaption"] == ["<a>", "b"]
    description = reader.all("svg")[0].attributes["aria-label"]
    assert description == "Accuracy of <a> by epoch: training ends at 0.750, validation ends at 0.750"


def test_one_epoch_gives_a_dot() -> None:
    assert len(Reader(run_curves(history(0.5))).all("circle")) == 2
    assert Reader(run_curves(history(0.5, 0.6))).all("circle") == []


def test_variant_without_curves_is_omitted() -> None:
    reader = Reader(variant_curves([("a", [history(0.5)]), ("b", [])]))
    assert len(reader.all("figure")) == 1
