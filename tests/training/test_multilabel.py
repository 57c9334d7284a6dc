"""Training, evaluation and prediction with any number of labels for each text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heedful import TextClassifier
from heedful.base.errors import UserError
from heedful.config.schema import config_mistakes
from heedful.inference.api import load
from heedful.models.ensemble import Ensemble
from heedful.runs.examples import read_examples
from tests.helpers import evaluate, read_csv, run_config, saved_predictions, small_config, train, trained
from tests.portable.exports import export

WORDS = {"food": "bread", "music": "song", "sport": "match"}
OPTIONS = ["task=multilabel", "data=csv", "model/embedding=learned", "data.batch_size=16", "optimizer.lr=0.03"]


def texts(folder: Path, kind: str) -> Path:
    """A file of 120 texts, each with the words of its labels; a third of each label's texts have another one, too."""
    rng, path = np.random.default_rng(3), folder / f"texts.{kind}"
    rows = []
    for number in range(120):
        labels = [label for label, share in zip(WORDS, (0.5, 0.4, 0.3), strict=True) if rng.random() < share]
        rows.append((" ".join(["the", *(WORDS[label] for label in labels), f"n{number}"]), labels))
    lines = [json.dumps({"text": text, "label": labels}) for text, labels in rows]
    if kind == "csv":
        lines = ["text,label", *(f"{text},{';'.join(labels)}" for text, labels in rows)]
    if kind == "tsv":
        columns = [[text, *(str(int(name in labels)) for name in WORDS)] for text, labels in rows]
        lines = list(map("\t".join, [["text", *WORDS], *columns]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder and the result of a run on lists of labels."""
    folder = tmp_path_factory.mktemp("lists")
    path = texts(folder, "jsonl")
    return folder / "run", train(folder / "run", *OPTIONS, f"data.path='{path}'", "trainer.max_epochs=4")


def test_a_model_of_several_labels_is_trained_evaluated_and_predicts(lists, tmp_path, caplog) -> None:
    run, result = lists
    names = {name.removeprefix("test/") for name in result["metrics"] if name.startswith("test/")}
    assert names == {"acc", "f1_micro", "f1_macro", "hamming", "map"}
    assert result["metrics"]["test/f1_micro"]["value"] > 0.9
    found = saved_predictions(run)
    assert found.labels.dtype == bool and found.labels.shape == (24, 3)
    rows = read_csv(run / "predictions" / "test.csv")
    assert [row["label"] for row in rows] == found.task.decode(found.labels)
    assert [row["predicted"] for row in rows] == found.task.decode(found.predicted)
    assert [each.thresholds for each in (found.task, load(run).task)] == [pytest.approx(found.task.thresholds)] * 2  # type: ignore[attr-defined]
    again = evaluate(tmp_path / "eval", run / "checkpoints" / "best.ckpt")["metrics"]
    assert {name: again[name] for name in again if name in result["metrics"]} == {
        name: score for name, score in result["metrics"].items() if name.startswith("test/")
    }
    evaluate(tmp_path / "fewer", run / "checkpoints" / "best.ckpt", "+data.limit=50")
    assert "has changed since the training" not in caplog.text
    (prediction,) = load(run).predict(["the bread match"])
    assert prediction.label == ["food", "sport"]


def test_columns_of_0_and_1_are_the_same_labels_as_lists(lists, tmp_path: Path) -> None:
    """In training, in an evaluation of a file, and as the matrix of a program."""
    path, names = texts(tmp_path, "tsv"), f"[{','.join(WORDS)}]"
    runs = {"lists": lists[0], "columns": tmp_path / "columns"}
    train(runs["columns"], *OPTIONS, f"data.path='{path}'", f"data.label={names}", "trainer.max_epochs=4")
    found, expected = saved_predictions(runs["columns"]), saved_predictions(runs["lists"])
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    evaluations = [("columns", []), ("lists", [f"label_column={names}"])]
    scores = [evaluate(tmp_path / f"of {run}", runs[run], f"file='{path}'", *more) for run, more in evaluations]
    assert scores[0]["data"]["test"] == 120 and scores[0]["metrics"] == scores[1]["metrics"]
    frame = pd.read_csv(path, sep="\t")
    estimator = TextClassifier([*OPTIONS[2:], "trainer.max_epochs=4", "callbacks=checkpoints"])
    estimator.fit(frame.text, frame[list(WORDS)].to_numpy(), sample_weight=np.ones(len(frame)))
    assert estimator.predict(["the bread match"]).tolist() == [[1, 0, 1]]
    assert (
        estimator.score(["the bread match", "the bread match"], [[1, 0, 1], [1, 0, 0]]) == 0.5
    )  # all labels of a text


@pytest.mark.parametrize(
    ("cell", "option", "message"),
    [
        ("-1", "", "line 3: column 'food' holds '-1', but the columns of data.label hold 0 and 1: write 0 for -1"),
        ("x", "", "column 'food' holds 'x', but the columns of data.label hold 0 and 1: correct it, or name one"),
        ("", "", "line 3: no 'text' or no 'food, music'"),
        ("1", "task=multiclass", r"data\.label=\[food, music\]: .* need task=multilabel; for another task, name one"),
        ("1", "data.columns=[music]", "columns: 'music' is also data.label"),
    ],
)
def test_wrong_columns_of_labels(tmp_path: Path, cell: str, option: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(f"text,food,music\na b,1,0\nc,{cell},true\n")
    options = [*OPTIONS, f"data.path='{tmp_path / 'a.csv'}'", "data.label=[food,music]", *([option] if option else [])]
    with pytest.raises(UserError, match=message):
        train(tmp_path / "run", *options)


def test_each_class_has_weights_of_its_own_in_python_and_on_pages(tmp_path: Path) -> None:
    """With label attention; the weights of the predicted classes are also on the page of a run."""
    path, run, out = texts(tmp_path, "csv"), tmp_path / "run", tmp_path / "export"
    label = ["model/attention=label", "model/head=label", "trainer.max_epochs=4", f"data.path='{path}'"]
    train(run, *OPTIONS, *label, draws=True)
    model, text = load(run), "the bread match"
    (prediction,) = model.explain([text])
    inputs = model.members[0].card.codec.builder([text])(np.arange(1)).inputs
    weights = model.members[0].model.weights(inputs)[0, :, 0].tolist()  # C×L
    by_class = {name: [weight for _, weight in own] for name, own in prediction.class_weights.items()}
    assert by_class == {name: pytest.approx(own) for name, own in zip(model.class_names, weights, strict=True)}
    assert all(f"weights of {name}" in prediction._repr_html_() for name in ("food", "sport"))
    (shown, *_), html = read_examples(run), (run / "page.html").read_text()
    assert set(shown.class_weights) == set(shown.value) and all(f"weights of {name}" in html for name in shown.value)
    export(run, out)
    joint = Ensemble([*model.members, *load(out).members])
    (example,) = joint.examples([text])
    assert example.class_weights["food"] == pytest.approx(by_class["food"], abs=1e-5)


def test_a_linear_model_has_a_logit_for_each_label(tmp_path: Path) -> None:
    """The shares of the words are those of the most probable label."""
    run, data = tmp_path / "run", f"data.path='{texts(tmp_path, 'csv')}'"
    result = run_config(small_config(run, ["task=multilabel", "data=csv", "model=linear", "logger=csv", data]))
    assert result["metrics"]["test/f1_micro"]["value"] > 0.9
    (prediction,) = load(run).predict(["the bread match"])
    assert prediction.label == ["food", "sport"] and len(prediction.branch) == 3
    mixed = train(tmp_path / "mixed", *OPTIONS, "model/branch=ngrams", "model.branch.weight=null", data)
    assert mixed["metrics"]["test/f1_micro"]["value"] > 0.9
    assert mixed["branch_weight"] in np.linspace(0, 1, 21).round(2) and result["branch_weight"] == 1


def test_losses_of_one_class_are_refused(tmp_path: Path) -> None:
    cfg = small_config(tmp_path, ["task=multilabel", "loss=binary"])
    assert {mistake.path for mistake in config_mistakes(cfg, "train")} == {"loss._target_"}
    cfg = small_config(tmp_path, ["loss=binary_relevance"])
    (mistake,) = config_mistakes(cfg, "train")
    assert "or task=multilabel" in mistake.message


@pytest.mark.parametrize(("option", "weights"), [("balanced", [3.0, 1 / 3]), ("{y: 5}", [1.0, 5.0])])
def test_texts_with_a_class_weigh_more(tmp_path: Path, option: str, weights: list[float]) -> None:
    """By hand: of the 8 training texts, 2 have x and 6 have y."""
    path = tmp_path / "texts.jsonl"
    rows = [["x", "y"], ["x"], *[["y"]] * 5, [], ["x"], ["y"]]  # the last two validate
    lines = [json.dumps({"text": f"text {number}", "label": own}) for number, own in enumerate(rows)]
    path.write_text("\n".join(lines[:8]) + "\n")
    (tmp_path / "val.jsonl").write_text("\n".join(lines[8:]) + "\n")
    data = [f"data.path='{path}'", f"data.val_path='{tmp_path}/val.jsonl'", "data.test_fraction=0"]
    checkpoint = trained(tmp_path / "run", *OPTIONS, *data, f"loss.pos_weight={option}")
    assert load(checkpoint).members[0].loss.pos_weight.tolist() == pytest.approx(weights)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("loss.pos_weight={z: 5}", r"loss\.pos_weight\.z"),
        ("callbacks.best_checkpoint.monitor=val/ece", "val/ece is monitored, but the task has no such score"),
    ],
)
def test_unknown_classes_and_scores_are_refused(option: str, message: str, lists, tmp_path: Path) -> None:
    path = lists[0].parent / "texts.jsonl"
    with pytest.raises(UserError, match=message):
        trained(tmp_path / "run", *OPTIONS, f"data.path='{path}'", option, "callbacks.best_checkpoint.mode=min")


def test_wrong_cells_are_named(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a", "label": ["x", "z"]}\n{"text": "b", "label": null}\n{"text": "c", "label": []}\n')
    with pytest.raises(UserError, match=r"line 2: no 'text' or no 'label'"):
        train(tmp_path / "run", *OPTIONS, f"data.path='{path}'")
    path.write_text('{"text": "a", "label": "x|y"}\n{"text": "b", "label": "{\'x\': 1}"}\n')
    with pytest.raises(UserError, match=r"line 2: column 'label' holds \"{'x': 1}\", which is no list of labels"):
        train(tmp_path / "second", *OPTIONS, f"data.path='{path}'")
