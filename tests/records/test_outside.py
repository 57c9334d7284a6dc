"""Predictions of other programs in a comparison."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from heedful.base.errors import UserError
from heedful.compare.sections import factors, sections
from heedful.compare.verdict import comparison_verdict
from heedful.records.outside import Outside, parse_outside
from heedful.runs.run_files import Predictions
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.regression import Regression
from heedful.tasks.task import Task
from heedful.terms.comparison import Comparison, Row, compare
from tests.run_folders import make_probabilities, write_rows, write_run

CLASSES = ["a", "b"]
LABELS = np.array([0, 1, 1, 0, 1])
IDS = [f"t{number}" for number in range(5)]
RIGHT = ["a", "b", "b", "a", "b"]


def write_test_table(run: Path, labels: Sequence[str], ids: Sequence[str], classes: Sequence[str]) -> None:
    """Write predictions/test.csv as a training does, with the column `id` kept."""
    names = [f"probability_{name}" for name in classes]
    rows = [
        {"file": "a.csv", "line": str(line), "id": name, "label": label, "predicted": label}
        | {**dict.fromkeys(names, "0.5"), "in_train": "", "text": f"Text {name}"}
        for line, (name, label) in enumerate(zip(ids, labels, strict=True), 2)
    ]
    write_rows(run / "predictions" / "test.csv", rows)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with 3 of 5 texts right."""
    folder = write_run(
        tmp_path / "run", make_probabilities(LABELS, np.array([1, 0, 1, 0, 1], dtype=bool)), LABELS, names=CLASSES
    )
    write_test_table(folder, RIGHT, IDS, CLASSES)
    return folder


def write_csv(path: Path, **columns: Sequence[object]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return path


def compared(run: Path, *arguments: str, metric: str | None = None, **columns: Sequence[object]) -> Comparison:
    file = write_csv(run.parent / "outside.csv", **columns)
    given = parse_outside([f"outside.svc={file}", *arguments])
    return compare([run], metric=metric, outside=given)


def outside_row(comparison: Comparison) -> Row:
    (row,) = (row for row in comparison.rows if row.variant.outside)
    return row


def test_labels_in_any_order_are_scored_without_probabilities_and_costs(run: Path) -> None:
    comparison = compared(run, id=IDS[::-1], predicted=["b", "a", "b", "b", "a"])
    row = outside_row(comparison)
    assert {name: row.metrics[name].value for name in ("acc", "f1_macro")} == {"acc": 1.0, "f1_macro": 1.0}
    assert not {"auroc", "ece", "seconds_per_epoch"} & set(row.metrics)
    assert (row.peak_memory_mb, row.variant.runs[0].parameters) == (None, None)
    assert row.difference is not None and row.difference.value == pytest.approx(2 / 5)
    assert comparison.baseline.variant.name != "svc" and "svc" not in factors(comparison)
    assert "Not checked: whether svc saw these texts" in comparison_verdict(comparison)
    (cost,) = (part.content[0] for part in sections(comparison) if part.title == "Cost")
    assert ["svc", *"–––––"] in cost.rows  # type: ignore[union-attr]


def test_probabilities_have_all_scores(run: Path) -> None:
    first = [0.9, 0.2, 0.4, 0.6, 0.7]
    columns = {"probability_a": first, "probability_b": [round(1 - each, 3) for each in first]}
    row = outside_row(compared(run, metric="brier", line=range(2, 7), **columns))
    true = [each if label == "a" else 1 - each for each, label in zip(first, RIGHT, strict=True)]
    assert row.metrics["brier"].value == pytest.approx(np.mean([2 * (1 - each) ** 2 for each in true]))
    assert row.metrics["acc"].value == 4 / 5


def test_arrays_in_place_of_a_file(run: Path) -> None:
    columns = {"id": np.array(IDS), "predicted": np.array(["a", "b", "a", "a", "a"])}
    row = outside_row(compare([run], outside={"svc": Outside(columns)}))
    assert (row.metrics["acc"].value, row.variant.outside) == (3 / 5, "outside svc")
    with pytest.raises(UserError, match=r"outside svc: the columns must have the same length, not \[4, 5\]"):
        compare([run], outside={"svc": Outside({**columns, "id": IDS[1:]})})


def test_a_fitted_pipeline_predicts_the_texts_of_the_runs(run: Path) -> None:
    """Its texts are "Text t0" to "Text t4"; it takes the last three for b."""
    texts = [f"Text {name}" for name in IDS]
    for last in (LogisticRegression(C=1000), LinearSVC()):
        pipeline = make_pipeline(CountVectorizer(), last).fit(texts, ["a", "a", "b", "b", "b"])
        row = outside_row(compare([run], outside={"svc": Outside(pipeline)}))
        assert (row.metrics["acc"].value, "auroc" in row.metrics) == (3 / 5, hasattr(last, "predict_proba"))
        assert not row.variant.is_checked


def test_an_empty_answer_is_wrong_and_a_program_may_be_untrained(run: Path) -> None:
    comparison = compared(run, "outside.svc.trained=never", id=IDS, predicted=["a", "", "b", "a", ""])
    assert outside_row(comparison).metrics["acc"].value == 3 / 5
    assert "Not checked" not in comparison_verdict(comparison)


TASKS: dict[str, tuple[Task, np.ndarray, list[str], list[str], dict[str, float]]] = {
    "labels": (
        Multilabel(("a", "b"), separator="|", thresholds=(0.0, 0.9)),
        np.array([[1, 0], [0, 0], [1, 1]], dtype=bool),
        ["a", "", "a|b"],
        ["a", "b", "a|b"],
        {"acc": 2 / 3, "hamming": 1 / 6},
    ),
    "numbers": (
        Regression(mean=2.0, scale=3.0),
        np.array([1.0, 2.0, 4.0], dtype=np.float32),
        ["1", "2", "4"],
        ["1.0", "3", "4"],
        {"mae": 1 / 3, "rmse": (1 / 3) ** 0.5},
    ),
}


@pytest.mark.parametrize(("task", "targets", "labels", "predicted", "expected"), TASKS.values(), ids=TASKS)
def test_all_tasks(task, targets, labels, predicted, expected, tmp_path) -> None:
    run = write_run(tmp_path / "run", labels=np.zeros(3), probabilities=np.zeros((3, 2)), names=list(task.classes))
    Predictions("test", task.certain(targets), targets, task, np.arange(3)).save(run / "predictions")
    write_test_table(run, labels, IDS[:3], task.classes)
    row = outside_row(compared(run, id=IDS[:3], predicted=predicted, label=labels))
    assert {name: row.metrics[name].value for name in expected} == pytest.approx(expected)


def write_folds(folder: Path) -> None:
    for fold, (labels, ids) in enumerate(((LABELS, IDS), (LABELS[::-1], ["u4", "u3", "u2", "u1", "u0"]))):
        data = {"fingerprint": "f", "class_names": CLASSES, "folds": 2, "fold": fold, "test": 5}
        hits = np.array([1, 0, 1, 0, 1], dtype=bool)
        run = write_run(
            folder / f"run_{fold}",
            make_probabilities(labels, hits),
            labels,
            names=CLASSES,
            options={"data.folds": 2, "data.fold": fold},
            result={"data": data},
        )
        write_test_table(run, [CLASSES[label] for label in labels], ids, CLASSES)


def test_folds_are_those_of_the_runs(tmp_path: Path) -> None:
    write_folds(tmp_path / "runs")
    ids = [*IDS, "u0", "u1", "u2", "u3", "u4"]
    columns = {"id": ids, "predicted": RIGHT + RIGHT}
    comparison = compared(tmp_path / "runs", fold=[0] * 5 + [1] * 5, **columns)
    row = outside_row(comparison)
    assert (row.metrics["acc"].value, row.variant.is_checked) == (1.0, True)
    # four of ten texts differ: their variance is 4 / 10 · 6 / 9, and the standard error sqrt(1.5 / 10 · that) = 0.2
    assert row.over_texts is not None and row.over_texts.value == pytest.approx(2 / 5)
    assert row.over_texts.high == pytest.approx(0.4 + t.ppf(0.975, 9) * 0.2)
    assert row.over_texts.p_value == pytest.approx(2 * t.sf(2, 9))
    with pytest.raises(UserError, match=r"outside.csv: line 7: 'fold' is '0', and not that of the runs"):
        compared(tmp_path / "runs", fold=[0] * 10, **columns)


MISTAKES: dict[str, tuple[dict[str, Sequence[object]], str]] = {
    "repeated": ({"id": [*IDS, "t1"], "predicted": [*RIGHT, "a"]}, r"line 7: 'id' t1 occurs twice"),
    "missing": ({"id": IDS[1:], "predicted": RIGHT[1:]}, "1 of 5 test texts have no row, such as 'id' t0; a refusal"),
    "others": ({"id": [*IDS, "z"], "predicted": [*RIGHT, "a"]}, "line 7: 'id' z is none of the 5 test texts"),
    "unknown class": ({"id": IDS, "predicted": ["A", *RIGHT[1:]]}, r"line 2: 'predicted' is 'A', .* mean a\?"),
    "labels": ({"id": IDS, "predicted": RIGHT, "label": ["a"] * 5}, "line 3: 'label' is 'a', and not that of the runs"),
    "lines": ({"id": IDS, "predicted": RIGHT, "line": [3] * 5}, "line 2: 'line' is '3', and not that of the runs"),
    "text": ({"id": IDS, "predicted": RIGHT, "text": ["Text t0"] * 5}, "line 3: 'text' is 'Text t0', and not that of"),
    "sum": ({"id": IDS, "probability_a": [0.5] * 5, "probability_b": [0.4] * 5}, "line 2: .* their sum is 0.9"),
    "not from 0 to 1": ({"id": IDS, "probability_a": [2] * 5, "probability_b": [-1] * 5}, "must be from 0 to 1"),
    "no number": ({"id": IDS, "probability_a": ["x"] * 5, "probability_b": [1] * 5}, "line 2: 'probability_a' is 'x'"),
    "nothing": ({"id": IDS}, "neither 'predicted' nor all of 'probability_a'"),
    "a part": ({"id": IDS, "predicted": RIGHT, "probability_a": [1] * 5}, "'probability_b' is missing; it needs all"),
    "no class": ({"id": IDS, "predicted": RIGHT, "probability_c": [1] * 5}, "'probability_a' is missing; it needs all"),
    "no name": ({"predicted": RIGHT}, "no column names the texts: it needs 'line'"),
    "contradiction": (
        {"id": IDS, "predicted": RIGHT, "probability_a": [1] * 5, "probability_b": [0] * 5},
        "line 3: 'predicted' is 'b', and not that of the largest probability; 3 such rows",
    ),
}


@pytest.mark.parametrize(("columns", "message"), MISTAKES.values(), ids=MISTAKES)
def test_other_rows_are_refused(run: Path, columns: dict[str, Sequence[object]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        compared(run, **columns)


@pytest.mark.parametrize(
    ("cell", "message"),
    [({"id": ["t0"]}, "column 'id' holds .*a list"), ({"predicted": {"a": 1}}, "'predicted' holds")],
)
def test_cells_that_are_objects_are_refused(run: Path, tmp_path: Path, cell: dict[str, object], message: str) -> None:
    rows = [{"id": name, "predicted": label} for name, label in zip(IDS, RIGHT, strict=True)]
    rows[0] = rows[0] | cell  # type: ignore[operator]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UserError, match=f"rows.jsonl: line 1: {message}"):
        compare([run], outside=parse_outside([f"outside.svc={tmp_path / 'rows.jsonl'}"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["outside.svc.trained=never"], "must be never, beside outside.svc=<file>"),
        (["outside.svc=a.csv", "outside.svc.trained=yes"], "must be never"),
        (["outside.=a.csv"], "write outside.<name>=<file"),
    ],
)
def test_arguments(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_outside(arguments)


def test_scores_of_probabilities_need_them(run: Path) -> None:
    with pytest.raises(UserError, match="--metric nll: svc has labels alone"):
        compared(run, metric="nll", id=IDS, predicted=RIGHT)
