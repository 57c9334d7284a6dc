"""Tables of scores, predictions and files for a terminal."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console, RenderableType

from heedful.inference.predictions import prediction_section
from heedful.report.score_sections import baseline_section, classes_section, scores_section
from heedful.report.section import Section
from heedful.report.terminal import files_table, render_terminal
from heedful.runs.examples import Example
from heedful.runs.result import Baseline, ClassScore, RunResult, Score
from heedful.runs.run_files import Predictions
from heedful.tasks.multiclass import Multiclass
from heedful.terms.evaluation import evaluate
from tests.helpers import classified
from tests.run_folders import predictions


def print_table(table: RenderableType | Section, width: int = 80) -> str:
    """Return the output to a pipe."""
    pipe = io.StringIO()
    Console(file=pipe, width=width).print(render_terminal([table]) if isinstance(table, Section) else table)
    return pipe.getvalue()


def row(text: str, name: str) -> str:
    return next(" ".join(line.split()) for line in text.splitlines() if line.split()[:1] == [name])


def test_metric_table_fits_80_columns_without_colour() -> None:
    scores = evaluate(classified(*predictions(8, 2)))
    metrics = {f"{split}/{name}": score for name, score in scores.items() for split in ("val", "test")}
    text = print_table(scores_section({**metrics, "val/acc": Score(0.75, 0.5, 0.9, 1234)}, "Best epoch: 3"))
    assert "\x1b" not in text and max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[0].strip() == "Best epoch: 3"
    assert row(text, "metric") == "metric value 95 % interval validation"
    assert row(text, "test/acc") == "test/acc 0.875 0.529 to 0.978 0.750"
    assert all(row(text, f"test/{name}") for name in scores)
    assert "Texts: test 8, validation 1,234" in text


def test_rare_classes_and_groups_are_named() -> None:
    task, labels = Multiclass(("ham", "REFUND")), np.array([0] * 8 + [1])
    found = Predictions("test", np.eye(2)[labels], labels, task, np.arange(9))
    text = " ".join(print_table(scores_section({"test/acc": Score(0.5, 0.4, 0.6, 9)}, predictions=found)).split())
    assert "have no interval, because classes are rare: REFUND: 1 test text." in text and "groups" not in text
    found = Predictions("val", np.eye(2)[labels], labels, task, np.arange(9), np.arange(9) // 2)
    text = " ".join(print_table(scores_section({"val/acc": Score(0.5, 0.4, 0.6, 9)}, predictions=found)).split())
    assert "classes are rare: ham: 8 validation texts in 4 groups, REFUND: 1 validation text." in text
    assert "The texts are in 5 groups (data.group)" in text


def test_the_baseline_is_beside_the_model() -> None:
    scores = {"test/acc": Score(0.825, 0.8, 0.85, 1013), "test/nll": Score(0.5, 0.4, 0.6, 1013)}
    differences = {"test/acc": Score(0.008, -0.003, 0.019, 1013), "test/nll": Score(-0.2, -0.3, -0.1, 1013)}
    own = {"test/acc": Score(0.833, 0.81, 0.86, 1013), "test/nll": Score(0.3, 0.2, 0.4, 1013)}
    result = RunResult(metrics=own, baseline=Baseline(scores, differences))
    text = print_table(baseline_section(result, {"bad": ["awful", "not good"]}), 120)
    assert row(text, "accuracy") == "accuracy 0.833 0.825 +0.0080 (-0.0030 to +0.0190)"
    assert row(text, "negative") == "negative log-likelihood 0.300 0.500 -0.2000 (-0.3000 to -0.1000)"
    assert row(text, "bad") == "bad awful, not good"


def test_undefined_values_are_dashes() -> None:
    text = print_table(
        scores_section({"val/auroc": Score(None, None, None, 25000), "val/ece": Score(0.5, None, None, 25000)})
    )
    assert row(text, "metric") == "metric value 95 % interval"
    assert row(text, "val/auroc") == "val/auroc – –"
    assert row(text, "val/ece") == "val/ece 0.500 –"


def test_the_table_of_many_classes_has_the_classes_with_the_lowest_f1() -> None:
    classes = {f"name{c:02}": ClassScore(0.5, 0.25, c / 30, 1234) for c in range(30)} | {"none": ClassScore(support=0)}
    few = print_table(classes_section(dict(list(classes.items())[18:20]), "test"))
    assert few.splitlines()[0].strip() == "Classes, test" and "result.json" not in few
    assert row(few, "name18") == "name18 0.500 0.250 0.600 1,234"
    many = print_table(classes_section(classes, "val"))
    assert row(many, "none") == "none – – – 0"
    assert [f"name{c:02}" in many for c in range(30)] == [c < 19 for c in range(30)]
    assert "The 20 of 31 classes with the lowest F1" in many


def test_a_prediction_has_label_probabilities_and_words_without_markup() -> None:
    words = ["not", "[red]bad[/red]", ":smile:", *"abcdefghij"]
    weights = np.array([0.5, 0.2, 0.1, *[0.02] * 10])
    probabilities = {"neg": 0.1, "[b]pos": 0.7, "mid": 0.2}
    text = print_table(prediction_section(Example("text", 0, None, "[b]pos", probabilities, words, weights, None), 10))
    assert text.splitlines()[0] == "[b]pos"
    assert row(text, "[b]pos") == "[b]pos"
    assert [number for number in ("0.700", "0.200", "0.100") if number in text] == ["0.700", "0.200", "0.100"]
    assert text.index("not") < text.index("[red]bad[/red]") < text.index(":smile:")
    assert "0.5000" in text and " i " not in text  # at most ten words
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("classes", [2, 20])
def test_prediction_of_an_empty_text_and_of_many_classes(classes: int) -> None:
    names = [f"name{c:02}" for c in range(classes)]
    probabilities = dict(zip(names, np.linspace(0, 1, classes), strict=True))
    text = print_table(
        prediction_section(Example("text", 0, None, names[-1], probabilities, [], np.array([]), None), 10)
    )
    assert text.splitlines()[0] == names[-1]
    assert sum(name in text for name in names) == min(10, classes)


def test_files_are_listed_by_folder_with_complete_names() -> None:
    folder = Path("outputs/train/runs/2025-01-31_12-00-00_123456")
    names = [f"pictures/strip_test_{index}.png" for index in range(9)] + ["result.json", "checkpoints/best.ckpt"]
    text = print_table(files_table(folder, [folder / name for name in names]))
    assert text.splitlines()[0] == f"Written to {folder}/"
    assert [line.split()[0] for line in text.splitlines()[1:3]] == ["result.json", "checkpoints/"]
    assert all(Path(name).name in text.split() for name in names)
