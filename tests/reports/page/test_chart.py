import pytest

from src.reports.page.chart import Scale, linear_scale, log_scale
from src.reports.page.document import macro
from tests.reports.page.fragments import render
from tests.reports.page.reader import Reader


def test_values_have_positions_on_a_scale() -> None:
    scale = Scale(0.5, 0.9, (0.6, 0.8))
    assert [scale.position(value) for value in (0.5, 0.6, 0.9)] == [0, 25, 100]
    assert scale.from_top(0.6) == 75
    assert Scale(1, 100, (1, 10, 100), log=True).position(10) == 50


@pytest.mark.parametrize(
    ("values", "ticks", "labels"),
    [
        ([0.81, 0.884], (0.82, 0.84, 0.86, 0.88), ["0.82", "0.84", "0.86", "0.88"]),
        ([-0.012, 0.031], (-0.01, 0, 0.01, 0.02, 0.03), ["\N{MINUS SIGN}0.01", "0.00", "0.01", "0.02", "0.03"]),
        ([0, 1], (0, 0.2, 0.4, 0.6, 0.8, 1), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ([3, 4100], (0, 1000, 2000, 3000, 4000), ["0", "1,000", "2,000", "3,000", "4,000"]),
    ],
)
def test_ticks_are_round_numbers_with_distinct_labels(
    values: list[float], ticks: tuple[float, ...], labels: list[str]
) -> None:
    scale = linear_scale(values)
    assert scale.ticks == pytest.approx(ticks)
    assert [scale.format_tick(tick) for tick in scale.ticks] == labels
    assert all(0 < scale.position(value) < 100 for value in values)


@pytest.mark.parametrize("epochs", [[0], [0, 1], list(range(7)), list(range(1000))])
def test_ticks_of_epochs_are_integers(epochs: list[int]) -> None:
    ticks = linear_scale(epochs, whole=True).ticks
    assert 1 <= len(ticks) <= 7
    assert all(tick == int(tick) for tick in ticks)


@pytest.mark.parametrize("values", [[0.7], [0.7, 0.7], [0.0], [], [float("nan"), 0.2]])
def test_a_scale_without_a_range_of_values(values: list[float]) -> None:
    scale = linear_scale(values)
    assert scale.low < scale.high
    assert all(0 <= scale.position(value) <= 100 for value in values if value == value)


@pytest.mark.parametrize(
    ("values", "ticks"), [([7, 900], (10, 20, 50, 100, 200, 500)), ([28, 31], (28, 30)), ([5], (5,))]
)
def test_ticks_of_a_log_scale_are_round(values: list[float], ticks: tuple[float, ...]) -> None:
    scale = log_scale(values)
    assert set(ticks) <= {round(tick, 9) for tick in scale.ticks}
    assert all(scale.low <= tick <= scale.high for tick in scale.ticks)


def test_an_interval_chart_with_and_without_an_interval() -> None:
    scale = Scale(0, 1, (0, 0.5, 1))
    interval_chart = macro("interval_chart")
    reader = Reader(interval_chart(scale, 0.4, 0.3, 0.6))
    (whisker,) = reader.all("line", "whisker")
    assert (whisker.attributes["x1"], whisker.attributes["x2"]) == ("30.0%", "60.0%")
    assert reader.all("circle")[0].attributes["cx"] == "40.0%"
    assert Reader(interval_chart(scale, 0.4, None, None)).all("line", "whisker") == []


def test_a_plot_has_a_description() -> None:
    source = '{% call page.plot(scale, scale, "<epoch>", "loss", "Loss by <epoch>") %}{% endcall %}'
    html = render(source, scale=Scale(0, 1, (0, 1)))
    assert "&lt;epoch&gt;" in html and "<epoch>" not in html
    assert Reader(html).all("svg")[0].attributes["aria-label"] == "Loss by <epoch>"
