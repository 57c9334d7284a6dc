"""The page and the pictures of a run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from heedful.report.advice import train_command, warnings_of
from heedful.report.doubtful import Doubtful, find_doubtful
from heedful.report.run_page import RunPage
from heedful.report.run_report import print_summary, write_run_report
from heedful.report.section import Content, Dots, Group, Maps, Matrix, Section, Strip, Table, Texts
from heedful.report.slices import slices_section
from heedful.report.verdict import run_verdict
from heedful.runs.removal import Removal, write_removals
from heedful.runs.result import Best, ClassScore, Data, RunResult, Score, Seconds
from heedful.runs.run_files import Predictions, read_predictions
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.regression import Regression
from tests.helpers import classified
from tests.run_folders import example, write_table

UNUSUAL = ["日本", "😀", "$5", "to", "$10", "x_y^2\\frac{", "", "a\nb", "العربية", "l" * 300]
PICTURES = ["curves", "gradients", "confusion", "reliability", "attention_position", "attention_entropy"]


def write_report(run: Path) -> list[Path]:
    return write_run_report(run, RunResult.load(run), read_predictions(run))


def sections(run: Path) -> dict[str, Section]:
    predictions = read_predictions(run)
    return {section.title: section for section in RunPage(run, RunResult.load(run), predictions).build().sections}


def folded(run: Path, title: str) -> list[Content]:
    """The content of a folded part at the end of the page."""
    section = sections(run)[title]
    assert section.is_folded
    return list(section.content)


def record(run: Path, **values: object) -> None:
    content = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(content | values))


def test_a_complete_run_has_every_picture_and_a_page(make_run, monkeypatch) -> None:
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
    assert "data:image" not in page and "<svg" not in page
    assert "日本" in page and "test 1: class 0, predicted class 1 (0.80)" in page


def test_maps_have_the_mean_and_each_head(make_run: Callable[..., Path]) -> None:
    content = folded(make_run(examples=[example(5, heads=3)]), "Some texts with their attention")
    (group,) = [item for item in content if isinstance(item, Group)]
    (maps,) = [item for item in group.content if isinstance(item, Maps)]
    assert list(maps.weights) == ["attention, mean of heads", *(f"attention, head {number}" for number in (1, 2, 3))]
    assert maps.weights["attention, mean of heads"].shape == (5, 5)


OF_FILES = {  # what a report lacks without a file
    "csv/metrics.csv": {"curves.png"},
    "gradients.csv": {"gradients.png"},
    "attention_stats.npz": {"attention_position.png", "attention_entropy.png"},
    "attention.json": set[str](),
    "predictions/test.npz": {"confusion.png", "reliability.png", "page.html"},
}


def test_a_missing_file_omits_only_its_pictures(make_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, path, **_: path.touch())
    run = make_run()
    names = {path.name for path in write_report(run)}
    for file, pictures in OF_FILES.items():
        (run / file).unlink()
        fewer = {path.name for path in write_report(run)}
        assert names - fewer == pictures, file
        names = fewer


def test_an_empty_run_has_no_report(tmp_path: Path) -> None:
    assert write_report(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_the_page_begins_with_counts_and_shows_mistakes_first(make_run: Callable[..., Path]) -> None:
    run = make_run()
    predictions = read_predictions(run)
    n = len(predictions.labels)
    wrong = int(predictions.task.notable(predictions.probabilities, predictions.labels)["mistake"][0])
    score = {"value": 0.96, "low": 0.9, "high": 0.99, "n": n}
    record(run, metrics={"test/acc": score, "val/acc": score})
    write_table(run, [f"text {i}" for i in range(n)], ["mail", "chat"] * (n // 2) + ["mail"] * (n % 2), in_train=3)
    effects = np.array([0.5, -0.25])
    write_removals(run, [Removal(wrong, ["text", str(wrong)], effects, np.array([0.25, 0.75]), np.zeros(0))])
    page = RunPage(run, RunResult.load(run), predictions).build()
    assert page.title == f"{round(0.96 * min(n, 100))} of {min(n, 100)} test texts get the right label"
    by_title = {section.title: section for section in page.sections}
    (texts,) = by_title["Texts"].content
    assert isinstance(texts, Texts) and texts.total == len(texts.rows) == n
    first = texts.rows[0]
    assert first["t"] == f"text {wrong}" and first["x"] == 1 and first["o"] == f"b.csv:{wrong + 2}"
    assert (first["r"], first["a"], "b" in first) == ([50, -25], [250, 750], False)
    assert [key for key, _ in texts.modes] == ["r", "a"] and texts.columns[0][0] == "channel"
    assert [row["t"] for row in texts.rows if "i" in row] == ["text 3"]
    assert "Attention alone names the same most important word in 0 % of the texts." in by_title["Texts"].note
    (matrix,) = by_title["Where it is wrong"].content
    assert (
        isinstance(matrix, Matrix)
        and matrix.counts.sum() == n
        and matrix.missed.sum() == (~predictions.is_correct).sum()
    )
    table = folded(run, "Scores with intervals")[-1]
    assert isinstance(table, Table) and table.rows == [["test/acc", "0.960", "0.900 to 0.990", "0.960"]]


@pytest.mark.parametrize(
    ("low", "n", "warnings"),
    [(0.6, 200, []), (0.5, 200, ["always answering “a”"]), (0.6, 8, ["Only 8 test texts"])],
)
def test_a_score_that_says_little_has_a_warning(low: float, n: int, warnings: list[str]) -> None:
    metrics = {"test/acc": Score(0.75, low, 0.9, n), "test/majority_acc": Score(0.5, n=n)}
    result = RunResult(metrics=metrics, data=Data(majority_class="a"))
    found = [each.text for each in warnings_of(result, "acc", False, Doubtful())]
    assert len(found) == len(warnings) and all(part in text for part, text in zip(warnings, found, strict=True))


def test_a_command_repeats_the_training_with_a_change() -> None:
    options = ("data=csv", "data/tokenizer=bpe", "model/encoder=cnn", "data.fold=0", "seed=3", "task=multilabel")
    trained = RunResult(overrides=options, data=Data(files={"train": ("a.csv",)}), seconds=Seconds(fit=1.0))
    kept = "train data=csv data.fold=0 seed=3 task=multilabel experiment=recommended"
    assert train_command(trained, "experiment=recommended").endswith(kept)  # no encoder that it does not have
    repeated = "data=csv data/tokenizer=bpe model/encoder=cnn task=multilabel -m seed=1,2 data.fold=0,1"
    assert train_command(trained, "-m seed=1,2 data.fold=0,1").endswith(repeated)
    for other in (replace(trained, data=Data()), replace(trained, seconds=Seconds()), RunResult()):
        assert train_command(other, "seed=1") == ""


def test_the_linear_model_has_no_attention_and_no_seeds(make_run: Callable[..., Path]) -> None:
    run, effects = make_run(model="linear"), np.array([0.5, -0.25])
    record(run, branch_weight=1.0)
    write_table(run, [f"text {i}" for i in range(31)], ["mail"] * 31)
    write_removals(run, [Removal(0, ["text", "0"], effects, np.array([0.25, 0.75]), effects)])
    by_title = sections(run)
    (texts,) = by_title["Texts"].content
    assert isinstance(texts, Texts) and [key for key, _ in texts.modes] == ["r", "b"]
    assert "Attention alone" not in by_title["Texts"].note and "One training" not in str(by_title)


@pytest.mark.parametrize(
    ("n", "share", "text"),  # the standard error of 0.9 - (it is right) is 0.04 with 100 texts, and 0.09 with 20
    [
        (100, 0.8, "too high: it is right less often"),
        (20, 0.8, "not shown to be"),
        (100, 1.0, "too low: it is right more"),
    ],
)
def test_a_confidence_is_called_wrong_only_where_its_texts_show_it(n: int, share: float, text: str, tmp_path) -> None:
    predicted, right = np.arange(n) % 2, np.arange(n) >= n * (1 - share)
    confidence = 0.89 + 0.02 * (np.arange(n) // 2 % 2)  # 0.9 on average
    probabilities = np.where(np.eye(2)[predicted] == 1, confidence[:, None], 1 - confidence[:, None])
    labels, task = np.where(right, predicted, 1 - predicted), Multiclass(("a", "b"))
    predictions = Predictions("test", probabilities, labels, task, np.arange(n))
    result = RunResult(metrics={"test/acc": Score(share, n=n)})
    (section,) = [
        part for part in RunPage(tmp_path, result, predictions).build().sections if part.title == "Confidence"
    ]
    assert text in section.note and f"(90.0 % on average, {100 * share:.1f} % right)" in section.note


def test_pages_of_many_labels_and_of_numbers(tmp_path: Path, make_run: Callable[..., Path]) -> None:
    run, rng = make_run(), np.random.default_rng(0)
    labels = rng.random((40, 2)) < 0.5
    many = Predictions(
        "test", rng.random((40, 2)), labels, Multilabel(("a", "b"), thresholds=(0.25, 0.75)), np.arange(40)
    )
    result = RunResult(
        metrics={"test/acc": Score(0.25, n=40)},
        thresholds={"a": 0.25, "b": 0.75},
        classes={"test": {"a": ClassScore(f1=0.5, f1_low=0.25, f1_high=0.75), "b": ClassScore(f1=0.5)}},
    )
    page = RunPage(run, result, many).build()
    (table,) = next(section for section in page.sections if section.title.startswith("Precision")).content
    assert isinstance(table, Table) and table.rows[0][4] == "0.250 to 0.750"
    assert page.title == "10 of 40 test texts get exactly the right label"
    (dots,) = next(section for section in page.sections if "thresholds" in section.title).content
    assert isinstance(dots, Dots) and sorted(dot.mark for dot in dots.rows if dot.mark) == [0.25, 0.75]
    missed = int((labels[:, 0] & (many.probabilities[:, 0] < 0.25)).sum())
    assert any(dot.text.startswith(f"{missed} of {labels[:, 0].sum()} missed") for dot in dots.rows)
    numbers = Predictions("test", np.arange(10.0)[:, None], np.arange(10.0) + 1, Regression(), np.arange(10))
    page = RunPage(run, RunResult(metrics={"test/mae": Score(1.0, n=10)}), numbers).build()
    assert page.title == "Predictions of label are off by 1 on average"
    (dots,) = next(section for section in page.sections if section.title == "Predicted numbers").content
    assert isinstance(dots, Dots) and (dots.rows[0].value, dots.rows[0].mark) == (1.5, 0.5)


def test_groups_of_texts_are_tested_together() -> None:
    """In 100 texts, the half of one channel is right in 60 %, and all of the other one."""
    labels, half = np.zeros(100, dtype=int), np.arange(100) % 2
    wrong = (half == 0) & (np.arange(100) % 5 < 2)
    predictions = classified(np.where(wrong[:, None], [0.25, 0.75], [0.75, 0.25]), labels)
    channels = ["mail" if row == 0 else "chat" for row in half]
    section = slices_section(
        predictions, "acc", {"file": [], "line": [], "channel": channels, "id": list(map(str, range(100)))}
    )
    assert section is not None and section.note.endswith("together): channel: mail, channel: chat.")
    (dots,) = section.content
    assert isinstance(dots, Dots) and [(dot.value, dot.mark) for dot in dots.rows] == [(0.6, 0.8), (1.0, 0.8)]
    equal = slices_section(predictions, "acc", {"file": [], "line": [], "channel": ["mail"] * 50 + ["chat"] * 50})
    assert equal is not None and equal.note.startswith("No group differs")


def test_a_confident_mistake_is_a_doubtful_label_and_many_are_not_shown() -> None:
    pytest.importorskip("cleanlab")
    labels = np.arange(100) % 2
    probabilities = np.where(labels[:, None] == [0, 1], 0.95, 0.05)
    probabilities[7] = probabilities[7, ::-1]
    assert find_doubtful(classified(probabilities, labels)) == Doubtful((7,))
    probabilities[:30] = probabilities[:30, ::-1]
    found = find_doubtful(classified(probabilities, labels))
    assert not found.rows and "too weak" in found.reason


def test_a_network_without_a_part_in_the_predictions_is_not_explained(make_run, monkeypatch) -> None:
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, path, **_: path.touch())
    run = make_run(examples=[example(3, heads=2) | {"branch": {"weight": 1.0, "shares": [0.5, -0.25, 0.0]}}])
    record(run, branch_weight=1.0)
    sentence = "The network is not used: the linear branch has 100 % of the logits"
    write_report(run)
    assert sentence in (run / "page.html").read_text("utf-8")
    assert f". {sentence}." in run_verdict(RunResult.load(run))
    content = folded(run, "Some texts")
    (group,) = [item for item in content if isinstance(item, Group)]
    (strip,) = group.content
    assert isinstance(strip, Strip) and [word.depth for word in strip.words] == [1.0, -0.5, 0.0]
    record(run, branch_weight=0.95)
    assert sentence not in run_verdict(RunResult.load(run))


def test_the_tables_contain_the_best_epoch_and_the_classes(capsys: pytest.CaptureFixture[str]) -> None:
    result = RunResult(
        best=Best("checkpoints/best.ckpt", "val/loss", 0.25, 1),
        metrics={"test/acc": Score(0.5, 0.25, 0.75, 8), "val/acc": Score(0.625, 0.5, 0.75, 4)},
        classes={"val": {"ham": ClassScore(support=3)}, "test": {"spam": ClassScore(0.5, 0.125, 0.2, 1234)}},
    )
    print_summary(result, None)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "Scores, best epoch 2 (val/loss 0.2500)" in lines
    assert "test/acc 0.500 0.250 to 0.750 0.625" in lines
    assert "Classes, test" in lines and "spam 0.500 0.125 0.200 1,234" in lines
    assert not any("ham" in line.split() for line in lines)
