"""The page and the pictures of a run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.image import imread

from heedful.report.run_report import print_summary, run_sections, write_run_report
from heedful.report.section import Group, Maps, Section, Strip
from heedful.report.verdict import run_verdict
from heedful.runs.result import Best, ClassScore, RunResult, Score
from heedful.runs.run_files import read_predictions
from tests.run_folders import example

UNUSUAL = ["日本", "😀", "$5", "to", "$10", "x_y^2\\frac{", "", "a\nb", "العربية", "l" * 300]
PICTURES = ["curves", "gradients", "confusion", "reliability", "coverage", "attention_position", "attention_entropy"]


def write_report(run: Path) -> list[Path]:
    return write_run_report(run, RunResult.load(run), read_predictions(run))


def sections(run: Path) -> list[Section]:
    return run_sections(run, RunResult.load(run), read_predictions(run))


def test_a_complete_run_has_every_picture_and_a_page(make_run: Callable[..., Path]) -> None:
    unusual = example(len(UNUSUAL), heads=3, index=1) | {"words": UNUSUAL}
    empty = example(1, index=3) | {"words": [], "weights": []}
    run = make_run(examples=[unusual, example(7, heads=1, index=2), empty], names=["$a", "b\n" + "c" * 99])
    paths = write_report(run)
    assert [path.name for path in paths] == [*(f"{name}.png" for name in PICTURES), "page.html"]
    assert set(paths) == {*(run / "pictures").iterdir(), run / "page.html"}
    for path in paths[:-1]:
        height, width, _ = imread(path).shape
        assert 200 < height < 2500 and 400 < width < 2500, path.name
    page = (run / "page.html").read_text("utf-8")
    assert page.count('src="data:image/png;base64,iVBOR') == len(PICTURES) and "<svg" not in page
    assert "日本" in page and "test 1: class 0, predicted class 1 (0.80)" in page
    assert write_report(run) == paths


def test_maps_have_the_mean_and_each_head(make_run: Callable[..., Path]) -> None:
    run = make_run(examples=[example(5, heads=3)])
    (attention,) = [section for section in sections(run) if section.title == "Attention"]
    (group,) = [item for item in attention.content if isinstance(item, Group)]
    (maps,) = [item for item in group.content if isinstance(item, Maps)]
    assert list(maps.weights) == ["attention, mean of heads", *(f"attention, head {number}" for number in (1, 2, 3))]
    assert maps.weights["attention, mean of heads"].shape == (5, 5)


@pytest.mark.parametrize(
    ("file", "pictures"),
    [
        ("csv/metrics.csv", {"curves.png"}),
        ("gradients.csv", {"gradients.png"}),
        ("predictions/test.npz", {"confusion.png", "reliability.png", "coverage.png"}),
        ("attention_stats.npz", {"attention_position.png", "attention_entropy.png"}),
        ("attention.json", set()),
    ],
)
def test_a_missing_file_omits_only_its_pictures(
    file: str, pictures: set[str], make_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, path, **_: path.touch())
    run = make_run()
    names = {path.name for path in write_report(run)}
    (run / file).unlink()
    assert names - {path.name for path in write_report(run)} == pictures


def test_an_empty_run_has_no_report(tmp_path: Path) -> None:
    assert write_report(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_scores_and_errors_are_sections(make_run: Callable[..., Path]) -> None:
    shares = {"branch": {"weight": 0.6, "shares": [0.5, -0.25]}}
    run = make_run(examples=[example(3), example(2, index=3) | shares | {"kind": "mistake"}])
    result = json.loads((run / "result.json").read_text())
    score = {"value": 0.9, "low": 0.8, "high": 0.95, "n": 31}
    (run / "result.json").write_text(json.dumps(result | {"metrics": {"val/acc": score, "test/acc": score}}))
    by_title = {section.title: section for section in sections(run)}
    (table,) = by_title["Scores"].content
    assert table.rows == [["test/acc", "0.900", "0.800 to 0.950", "0.900"]]
    (group,) = by_title["Errors"].content
    assert isinstance(group, Group) and group.title == "Most confident mistakes"
    assert [strip.title for strip in group.content if isinstance(strip, Strip)] == [
        "test 3: class 0, predicted class 1 (0.80)",
        "linear branch, 60 % of the logits",
    ]
    assert [group.title for group in by_title["Attention"].content if isinstance(group, Group)] == [
        "test 0: class 0, predicted class 1 (0.80)"
    ]


def test_a_network_without_a_part_in_the_predictions_is_not_explained(make_run: Callable[..., Path]) -> None:
    run = make_run(examples=[example(3, heads=2) | {"branch": {"weight": 1.0, "shares": [0.5, -0.25, 0.0]}}])
    content = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(content | {"branch_weight": 1.0}))
    write_report(run)
    assert "(the network is not used) on " in (run / "page.html").read_text("utf-8")
    by_title = {section.title: section for section in sections(run)}
    sentence = "The network is not used: the linear branch has 100 % of the logits"
    assert f". {sentence}." in run_verdict(RunResult.load(run)) and sentence in by_title["Attention"].note
    (group,) = by_title["Attention"].content
    (strip,) = group.content if isinstance(group, Group) else ()
    assert isinstance(strip, Strip) and [word.depth for word in strip.words] == [1.0, -0.5, 0.0]
    (run / "result.json").write_text(json.dumps(content | {"branch_weight": 0.95}))
    assert sentence not in run_verdict(RunResult.load(run))


def test_the_tables_contain_the_best_epoch_and_the_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = RunResult(
        best=Best("checkpoints/best.ckpt", "val/loss", 0.25, 1),
        metrics={"test/acc": Score(0.5, 0.25, 0.75, 8), "val/acc": Score(0.625, 0.5, 0.75, 4)},
        classes={"val": {"ham": ClassScore(support=3)}, "test": {"spam": ClassScore(0.5, 0.125, 0.2, 1234)}},
    )
    print_summary(result, tmp_path, None)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "Scores, best epoch 2 (val/loss 0.2500)" in lines
    assert "test/acc 0.500 0.250 to 0.750 0.625" in lines
    assert "Classes, test" in lines and "spam 0.500 0.125 0.200 1,234" in lines
    assert not any("ham" in line.split() for line in lines)
