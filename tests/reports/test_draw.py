from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.image import imread

from src.reports.draw import draw_all
from tests.reports.runs import example

UNUSUAL = ["日本", "😀", "$5", "to", "$10", "x_y^2\\frac{", "", "a\nb", "\ud800", "العربية", "l" * 300]


def test_a_complete_run_has_every_figure(make_run: Callable[..., Path]) -> None:
    unusual = example(len(UNUSUAL), heads=3, index=1) | {"words": UNUSUAL}
    run = make_run(examples=[unusual, example(7, heads=1, index=2), example(1, index=3) | {"words": [], "weights": []}])
    paths = draw_all(run)
    names = ["curves", "gradients", "confusion", "reliability", "attention_position", "attention_entropy"]
    names += [
        "strip_test_1",
        "heatmap_test_1",
        "heads_test_1",
        "strip_test_2",
        "heatmap_test_2",
        "strip_test_3",
    ]
    assert [path.name for path in paths] == [*(f"{name}.png" for name in names), "page.html"]
    assert set(paths) == {*(run / "pictures").iterdir(), run / "page.html"}
    for path in paths[:-1]:
        height, width, _ = imread(path).shape
        assert 200 < height < 2500 and 400 < width < 2500, path.name


def test_drawing_twice_replaces_the_files(make_run: Callable[..., Path]) -> None:
    run = make_run()
    assert draw_all(run) == draw_all(run)


@pytest.mark.parametrize(
    ("file", "figures"),
    [
        ("csv/metrics.csv", {"curves.png"}),
        ("gradients.csv", {"gradients.png"}),
        ("predictions/test.npz", {"confusion.png", "reliability.png"}),
        ("attention_stats.npz", {"attention_position.png", "attention_entropy.png"}),
        ("attention.json", {"strip_test_0.png"}),
        ("result.json", set()),
    ],
)
def test_a_missing_file_omits_only_its_figures(
    file: str, figures: set[str], make_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[str] = []
    monkeypatch.setattr("src.reports.draw.save_figure", lambda figure, path: saved.append(path.name) or path)
    run = make_run()
    names = {path.name for path in draw_all(run)}
    (run / file).unlink()
    assert names - {path.name for path in draw_all(run)} == figures


def test_an_empty_run_has_no_figures(tmp_path: Path) -> None:
    assert draw_all(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
