"""The linear model is fitted to the training split, and its predictions are comparable with those of a model."""

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from datasets import Dataset
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from heedful.base.errors import UserError
from heedful.data.source import Source
from heedful.data.tokenizer import Word
from heedful.runs.run_files import Predictions
from heedful.training.callbacks.baseline import LinearBaseline
from tests.helpers import read_csv, train
from tests.training.callbacks.test_removal import OF_TWO

ENDINGS = {"bad": "awful", "fair": "medium", "good": "superb"}


def source(folder: Path, classes: int = 3, fill: str = "text {}", weight: float | None = None) -> Source:
    """Texts of several classes, of which those of the first have a weight."""
    names = list(ENDINGS)[:classes]
    labels = [names[i % classes] for i in range(67)]
    rows = [f"{fill.format(i % 11)} {ENDINGS[label] if '{' in fill else ''}" for i, label in enumerate(labels)]
    data = Source.of(
        Dataset.from_dict({"text": rows, "label": labels, "w": [weight if each == "bad" else 1 for each in labels]}),
        weight=None if weight is None else "w",
        tokenizer=Word(),
        cache_dir=str(folder / "cache"),
        progress=False,
    )
    data.setup()
    return data


def baseline(folder: Path, **options: int) -> LinearBaseline:
    return LinearBaseline(str(folder / "out"), **options)


@pytest.mark.parametrize("split", ["val", "test"])
def test_two_classes_equal_the_pipeline_of_scikit_learn(tmp_path: Path, split: str) -> None:
    data = source(tmp_path, classes=2)
    baseline(tmp_path).write(data)
    texts = {name: data.texts(name, range(data.sizes[name])) for name in ("train", split)}
    pipeline = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+"),
        LogisticRegression(C=10, tol=1e-8, max_iter=1000),
    )
    expected = pipeline.fit(texts["train"], data.tokenized("train").labels).predict_proba(texts[split])
    _, probabilities, labels, task, index, *_ = Predictions.load(tmp_path / "out" / f"{split}.npz")
    names = list(task.classes)
    np.testing.assert_allclose(probabilities, expected, atol=0.05)  # liblinear penalizes the intercept, too
    assert probabilities.argmax(1).tolist() == labels.tolist() == data.tokenized(split).labels.tolist()
    assert index.tolist() == list(range(data.sizes[split]))
    assert names == ["bad", "fair"]


@pytest.mark.parametrize("classes", [2, 3])
def test_the_weights_of_texts_count(classes: int, tmp_path: Path) -> None:
    found = []
    for weight in (None, 1.0, 50.0):
        baseline(tmp_path).write(source(tmp_path, classes, weight=weight))
        found.append(Predictions.load(tmp_path / "out" / "test.npz").probabilities[:, 0])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    assert (found[2] > found[0] + 0.005).all()


def test_models_that_do_not_converge_are_reported_in_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    baseline(tmp_path, c=10**12).write(source(tmp_path, fill="text"))
    assert caplog.text.count("converge") == 1
    assert "3 linear models did not converge: try a smaller callbacks.baseline.c" in caplog.text


def test_a_cache_that_cannot_be_written_does_not_prevent_the_baseline(tmp_path, caplog) -> None:
    data = source(tmp_path)
    with patch(
        "heedful.training.callbacks.baseline.load_or_build", side_effect=UserError("data.cache_dir=x: read-only")
    ):
        baseline(tmp_path).write(data)
    assert "The linear model is not kept for other runs: data.cache_dir=x: read-only" in caplog.text
    uncached = Predictions.load(tmp_path / "out" / "test.npz").probabilities
    baseline(tmp_path).write(data)
    np.testing.assert_array_equal(uncached, Predictions.load(tmp_path / "out" / "test.npz").probabilities)


def test_the_first_feature_of_each_class_is_its_word(tmp_path: Path) -> None:
    baseline(tmp_path, top=2).write(source(tmp_path))
    rows = read_csv(tmp_path / "out" / "features.csv")
    assert len(rows) == 6
    assert {row["class"]: row["feature"] for row in reversed(rows)} == ENDINGS
    assert all(float(row["weight"]) > 0 for row in rows[::2])


def test_a_second_run_reads_the_baseline_from_the_cache(tmp_path: Path) -> None:
    first, second = (LinearBaseline(str(tmp_path / name)) for name in ("first", "second"))
    first.write(source(tmp_path))
    with patch("sklearn.linear_model.LogisticRegression", side_effect=AssertionError):
        second.write(source(tmp_path))
        with pytest.raises(AssertionError):
            baseline(tmp_path, max_order=1).write(source(tmp_path))
    expected, found = (Predictions.load(Path(each.folder, "test.npz")) for each in (first, second))
    assert np.array_equal(found.probabilities, expected.probabilities)


def test_a_class_without_training_texts_has_the_probability_zero(tmp_path: Path) -> None:
    data = source(tmp_path, classes=2)
    data.task = data.task.with_classes(("absent", *data.class_names))
    for name in ("train", "val", "test"):
        np.add(data.tokenized(name).labels, 1, out=data.tokenized(name).labels)
    baseline(tmp_path).write(data)
    probabilities = Predictions.load(tmp_path / "out" / "test.npz").probabilities
    assert probabilities.shape[1] == 3
    assert not probabilities[:, 0].any()


@pytest.mark.parametrize(
    ("fill", "max_texts", "message"),
    [("text {}", 5, "callbacks.baseline.max_texts=5"), ("?!", 99, "the texts have no words")],
)
def test_too_many_texts_or_texts_without_words_have_no_baseline(tmp_path, caplog, fill, max_texts, message) -> None:
    baseline(tmp_path, max_texts=max_texts).write(source(tmp_path, fill=fill))
    assert message in caplog.text
    assert not (tmp_path / "out").exists()


def test_a_run_records_the_baseline_and_its_difference(store: Callable[..., Path]) -> None:
    result = json.loads((store(*OF_TWO, short=False) / "result.json").read_text())
    scores, differences = result["baseline"]["metrics"], result["baseline"]["differences"]
    assert scores.keys() == differences.keys() == result["metrics"].keys() - {"test/majority_acc", "val/majority_acc"}
    for name, score in scores.items():
        assert differences[name]["value"] == pytest.approx(result["metrics"][name]["value"] - score["value"])


def test_a_run_without_validation_compares_the_test_split_only(tmp_path: Path) -> None:
    options = [f"callbacks.{name}=null" for name in ("progress", "attention", "gradient_norms", "early_stopping")]
    more = ["trainer.max_epochs=1", "+trainer.limit_val_batches=0", *options]
    result = train(tmp_path / "run", "callbacks=default", *more)
    assert {name.partition("/")[0] for name in result["baseline"]["metrics"]} == {"test"}
