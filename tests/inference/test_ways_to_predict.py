"""All ways to predict agree: Python, command, estimator, evaluation, and an export with Heedful and without it."""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from heedful import TextClassifier, load, train
from heedful.commands import predict
from heedful.inference.api import Model, Prediction
from tests.helpers import evaluate, saved_predictions
from tests.portable.exports import Call, export, run_script

N = 60
WORDS = ["good", "bad", "film", "plot", "dog", "cat", "a", "the"]
LABELS = np.arange(N) % 2
LONG = "one two three " * 30
ODD = ["A great film, a film to remember", "dull <br /> and b\u00e4d, ba\u0308 d\u0323", LONG, "?", "xqzzy <br />"]
SMALL = ["data.batch_size=16", "trainer.max_epochs=2", "logger=none"]
IDENTITY = "model/encoder=identity"  # is exported in half of the time of the default encoder


class Schema(NamedTuple):
    """What a model reads and predicts.

    Args:
        options: those of its training.
        columns: the columns of N rows, beside their labels.
        new: the columns of rows to predict, the last of which has a blank text.
        labels: of the N rows.
    """

    options: list[str]
    columns: dict[str, list[Any]]
    new: dict[str, list[Any]]
    labels: Any = np.where(LABELS, "pos", "neg")


def texts(seed: int = 0) -> list[str]:
    """Texts of random words, in half of which `good` is more frequent."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice([*WORDS, *["good" if label else "bad"] * 4], 7)) for label in LABELS]


def classes() -> list[str]:
    """One label, or two, of each row."""
    return ["food|sport" if i % 5 == 0 else "sport" if label else "food" for i, label in enumerate(LABELS)]


AGES = [None if i % 11 == 0 else f"1.{20 + 30 * label + i % 7:03},5" for i, label in enumerate(LABELS)]
COUNTRIES = np.where(LABELS, "DE", np.where(np.arange(N) % 3, "FR", "US")).tolist()
SCHEMAS = {
    "texts": Schema(["model/attention=multi_head", "data.max_length=70"], {"text": texts()}, {"text": [*ODD, " \n"]}),
    "the ends of texts, and confidences": Schema(
        ["data.keep=last", "data.max_length=7", "data/tokenizer=bpe", "calibrate=true", IDENTITY],
        {"text": texts()},
        {"text": [*ODD, None]},
    ),
    "pairs": Schema(
        ["data.text=[first,second]", "data.max_length=17", "data.tokenizer.min_frequency=1", IDENTITY],
        {"first": texts(), "second": texts(1)},
        {"first": ["a red dog, 10/10", LONG, "xqz", "dog"], "second": ["an old b\u00e4d house", "a dog", "?", " "]},
    ),
    "columns": Schema(
        ["data.text=review", "data.columns=[age,country]", "data.thousands=.", "model/branch=ngrams", IDENTITY],
        {"review": texts(), "age": AGES, "country": COUNTRIES},
        {"review": ["good", "a film", None], "age": ["1.050,5", None, "3"], "country": ["DE", "IT", "FR"]},
    ),
    "labels": Schema(
        ["task=multilabel", "model/embedding=learned", "model/attention=label", "model/head=label"],
        {"text": texts()},
        {"text": ["the good cat", "bad", "film", ""]},
        classes(),
    ),
    "labels of a linear model": Schema(
        ["task=multilabel", "model=linear"], {"text": texts()}, {"text": ["the good cat", "bad", ""]}, classes()
    ),
    "numbers": Schema(
        [
            *("task=regression", "model/branch=ngrams", "model.branch.weight=0.5", IDENTITY),
            *("model/attention=bahdanau", "model.attention.task_scaling=lin"),
        ],
        {"text": texts()},
        {"text": ["good", "bad film", ""]},
        [1000 + 250 * int(label) + i / 8 for i, label in enumerate(LABELS)],
    ),
}


class Trained(NamedTuple):
    schema: Schema
    folder: Path  # with the folders `run` and `export`
    model: Model
    estimator: TextClassifier | None  # of a model of one class for each text

    @property
    def rows(self) -> dict[str, list[Any]]:
        return self.schema.new

    @property
    def names(self) -> list[str]:
        """Those of the columns with the texts."""
        return [name for name in self.rows if name not in self.model.column_names]

    @property
    def texts(self) -> list[Any]:
        """The texts, or pairs of texts, of the rows to predict."""
        columns = [self.rows[name] for name in self.names]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


@pytest.fixture(scope="module", params=SCHEMAS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    schema, folder = SCHEMAS[request.param], tmp_path_factory.mktemp("ways")
    options = [*SMALL, "callbacks=checkpoints", f"data.cache_dir='{folder / 'cache'}'", *schema.options]
    frame, estimator = pd.DataFrame(schema.columns), None
    if "task" in schema.options[0]:
        train(*options, f"hydra.run.dir='{folder / 'run'}'", "test=false", data=frame.assign(label=schema.labels))
    else:
        estimator = TextClassifier(options, folder=folder / "run").fit(frame, schema.labels)
    export(folder / "run", folder / "export")
    return Trained(schema, folder, load(folder / "run"), estimator)


@pytest.fixture(scope="module")
def expected(trained: Trained) -> list[Prediction]:
    return trained.model.predict(trained.rows)


def assert_agree(found: list[Prediction], expected: list[Prediction]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.label == (pytest.approx(other.label) if isinstance(other.label, float) else other.label)
        assert list(one.probabilities) == list(other.probabilities)
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)
        by_class = [(one.class_weights[name], weights) for name, weights in other.class_weights.items()]
        for mine, theirs in ((one.tokens, other.tokens), *by_class):
            assert [word for word, _ in mine] == [word for word, _ in theirs]
            assert [weight for _, weight in mine] == pytest.approx([weight for _, weight in theirs], abs=1e-5)


def test_a_long_text_is_cut_and_a_row_without_text_has_no_label(trained: Trained, expected: list[Prediction]) -> None:
    *others, blank = expected
    assert (blank.label, blank.probabilities, blank.tokens) == (None, {}, [])
    assert all(prediction.label is not None and prediction.tokens for prediction in others)
    if any(LONG in column for column in trained.rows.values()):
        length = trained.model.members[0].card.codec.max_length
        assert max(len(prediction.tokens) for prediction in others) == length


def test_an_export_predicts_as_its_checkpoint(trained: Trained, expected: list[Prediction]) -> None:
    model = load(trained.folder / "export")
    assert model.class_names == trained.model.class_names
    assert_agree(model.predict(trained.rows), expected)
    probabilities = trained.model.predict_proba(trained.rows)
    np.testing.assert_allclose(model.predict_proba(trained.rows), probabilities, rtol=1e-5, atol=1e-5)
    if "model/branch=ngrams" in trained.schema.options:
        card = (trained.folder / "export" / "README.md").read_text()
        assert "(identity · bahdanau + ngrams branch)" in card
        assert "encoder identity, attention bahdanau, " in card and ", branch ngrams |" in card


@pytest.fixture(scope="module")
def written(trained: Trained) -> dict[str, list[dict[str, Any]]]:
    """The rows that `src.predict` writes for a file of the rows to predict, by the run and by the export."""
    file, rows = trained.folder / "new.jsonl", {}
    pd.DataFrame(trained.rows).to_json(file, orient="records", lines=True)
    for model in ("run", "export"):
        out = trained.folder / f"out of {model}.jsonl"
        paths = [f"ckpt_path='{trained.folder / model}'", f"file='{file}'", f"out='{out}'"]
        if len(trained.names) == 2 and model == "run":
            paths.append(f"text_column=[{','.join(trained.names)}]")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["predict.py", *paths])
            predict.main()
        rows[model] = [json.loads(line) for line in out.read_text().splitlines()]
    return rows


def test_the_command_writes_the_same_predictions(trained, expected, written) -> None:
    for row, prediction in zip(written["run"] + written["export"], 2 * expected, strict=True):
        if isinstance(prediction.label, float):
            assert row["predicted"] == pytest.approx(prediction.label)
            continue
        assert row["predicted"] == prediction.label
        found = {name: row[f"probability_{name}"] for name in trained.model.class_names}
        assert found == pytest.approx(prediction.probabilities or dict.fromkeys(found), abs=1e-5)


def test_the_script_of_an_export_predicts_as_the_checkpoint(trained, expected, written) -> None:
    lines = ["\t".join(text) if isinstance(text, tuple) else (text or "").strip("\n") for text in trained.texts]
    names = trained.model.column_names
    if names:
        cells = pd.DataFrame(trained.rows)[names].to_dict("records")
        lines = [json.dumps({"text": text, **row}) for text, row in zip(trained.texts, cells, strict=True)]
    (answer,) = run_script(trained.folder / "export", Call(given="".join(f"{line}\n" for line in lines).encode()))
    unseen = "Column 'country': 1 of 2 cells are of categories without training texts\n"
    assert answer.message == (unseen if names else "")
    found = []
    for result in answer.results:
        numbers = {} if result["label"] is None else {"value": result["label"]}
        weights = result["weights"] or []
        by_class = result.get("class_weights", {})
        found.append(
            Prediction("", result["label"], result["probabilities"] or numbers, weights, class_weights=by_class)
        )
    assert_agree(found, expected)
    for rows in written.values():
        assert [row["only_unknown"] for row in rows] == [result["only_unknown"] for result in answer.results]


def test_an_estimator_and_an_evaluation_compute_the_same_probabilities(trained: Trained) -> None:
    """Of the rows of the training."""
    rows, file = trained.schema.columns, trained.folder / "rows.jsonl"
    pd.DataFrame(rows).assign(label=trained.schema.labels).to_json(file, orient="records", lines=True)
    probabilities = trained.model.predict_proba(rows)
    evaluate(trained.folder / "eval", trained.folder / "run", f"file='{file}'", "label_column=label")
    np.testing.assert_allclose(saved_predictions(trained.folder / "eval").probabilities, probabilities, atol=1e-5)
    if trained.estimator is not None:
        np.testing.assert_array_equal(trained.estimator.predict_proba(pd.DataFrame(rows)), probabilities)
