"""The estimator of scikit-learn."""

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import Dataset
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_array, check_is_fitted

from heedful import TextClassifier
from heedful.base.errors import UserError
from tests.helpers import ROOT

TINY = ["model/encoder=identity", "model/embedding=learned", "model.embedding.dim=8", "callbacks=checkpoints"]
SMALL = [*TINY, "trainer.max_epochs=2"]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def reviews() -> tuple[pd.Series, pd.Series]:
    frame = pd.read_csv(next((ROOT / "src").rglob("small.csv")))
    return frame.cleaned_review, frame.sentiments


@pytest.fixture(scope="module")
def fitted(reviews: tuple[pd.Series, pd.Series]) -> TextClassifier:
    return TextClassifier(["model/attention=multi_head", *SMALL], random_state=3).fit(*reviews)


def test_it_predicts_labels_and_probabilities(fitted: TextClassifier, reviews: tuple[pd.Series, pd.Series]) -> None:
    texts, labels = reviews
    assert fitted.classes_.tolist() == ["negative", "neutral", "positive"]
    probabilities = fitted.predict_proba(texts)
    assert probabilities.shape == (39, 3)
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-6)
    predicted = fitted.predict(texts.tolist())
    assert predicted.tolist() == fitted.classes_[probabilities.argmax(1)].tolist()
    assert fitted.score(texts, labels) == (predicted == labels).mean()
    assert fitted.predict(pd.DataFrame({"text": texts})).tolist() == predicted.tolist()
    limits = fitted.model_.task.limits  # type: ignore[attr-defined]
    lowest = min(limits, key=lambda limit: limit.expected_error)
    least = [limit for limit in limits if limit.expected_error <= lowest.expected_error][-1].confidence
    expected = np.where(probabilities.max(1) >= least, predicted, "unsure")
    assert fitted.predict(texts, abstain=lowest.expected_error).tolist() == expected.tolist()
    (explanation,) = fitted.explain(texts[:1])
    assert explanation.label == predicted[0] and explanation.text == texts[0]
    assert sum(weight for _, weight in explanation.tokens) == pytest.approx(1, abs=1e-5)
    assert explanation.maps["attention"].shape == (4, *2 * (len(explanation.tokens),))


def test_fitting_again_and_pickling_give_equal_predictions(fitted, reviews) -> None:
    probabilities = fitted.predict_proba(reviews[0])
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params() and not hasattr(copy, "model_")
    np.testing.assert_array_equal(copy.fit(*reviews).predict_proba(reviews[0]), probabilities)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(reviews[0]), probabilities)
    other = copy.set_params(random_state=5).fit(*reviews)
    assert not np.array_equal(other.predict_proba(reviews[0]), probabilities)


def test_overrides_are_parameters() -> None:
    estimator = TextClassifier("optimizer.lr=0.01")
    assert estimator.get_params()["optimizer.lr"] == 0.01
    estimator.set_params(**{"optimizer.lr": 0.02, "model/attention": "bahdanau"}, verbose=True)
    assert estimator.overrides == ["optimizer.lr=0.02", "model/attention=bahdanau"]
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.get_params()["model/attention"] == "bahdanau" and estimator.verbose
    assert "optimizer.lr" not in estimator.get_params(deep=False)


def test_searches_pipelines_and_cross_validation(reviews: tuple[pd.Series, pd.Series]) -> None:
    pairs = {("uniform", 0.001), ("multi_head", 0.03)}
    grid = [{"model/attention": [attention], "optimizer.lr": [rate]} for attention, rate in pairs]
    folds = [(range(26), range(26, 39))]
    search = GridSearchCV(TextClassifier(SMALL), grid, cv=folds, error_score="raise").fit(*reviews)
    assert {(params["model/attention"], params["optimizer.lr"]) for params in search.cv_results_["params"]} == pairs
    assert search.best_estimator_.model_.members[0].card.choices["attention"] == search.best_params_["model/attention"]
    lower = FunctionTransformer(lambda texts: texts.str.lower())
    pipeline = Pipeline([("lower", lower), ("classifier", TextClassifier(SMALL))])
    pipeline.set_params(**{"classifier__optimizer.lr": 0.03}).fit(*reviews)
    upper = reviews[0].str.upper()
    np.testing.assert_array_equal(pipeline.predict_proba(upper), pipeline.predict_proba(reviews[0]))


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([5, 3, 7] * 13), [3, 5, 7]),
        ([True, False, True] * 13, [False, True]),
        (["1", "1.0", ""] * 13, ["", "1", "1.0"]),  # one class in a file, but three here
    ],
)
def test_labels_of_any_type_are_predicted(labels, classes, reviews) -> None:
    fitted = TextClassifier([*SMALL, "model/attention=uniform"]).fit(reviews[0], labels)
    assert fitted.classes_.tolist() == classes
    assert fitted.predict(reviews[0]).dtype == fitted.classes_.dtype


def test_it_is_quiet_and_keeps_files_only_on_demand(reviews, tmp_path, monkeypatch, capfd) -> None:
    monkeypatch.chdir(tmp_path)
    TextClassifier(SMALL).fit(*reviews)
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())
    shown = [*SMALL, "callbacks=[checkpoints,progress]"]
    kept = TextClassifier(shown, folder="kept", verbose=True).fit(*reviews)
    assert "Epoch 2 of 2" in capfd.readouterr().out
    assert kept.model_.members[0].name == str(tmp_path / "kept" / "checkpoints" / "best.ckpt")
    assert (tmp_path / "kept" / "checkpoints" / "last.ckpt").exists()


def test_pairs_have_two_names(reviews: tuple[pd.Series, pd.Series]) -> None:
    pairs = list(zip(reviews[0], reviews[0][::-1], strict=True))
    fitted = TextClassifier([*SMALL, "data.text=[a,b]"]).fit(pairs, reviews[1])
    probabilities = fitted.predict_proba(pairs)
    assert not np.array_equal(fitted.predict_proba([pair[::-1] for pair in pairs]), probabilities)
    frame = pd.DataFrame(pairs, columns=["x", "y"])  # without the names of the training, the order counts
    np.testing.assert_array_equal(fitted.predict_proba(frame), probabilities)
    named = frame[["y", "x"]].set_axis(["b", "a"], axis=1)
    by_name = TextClassifier([*SMALL, "data.text=[a,b]"]).fit(named, reviews[1])
    for model in (fitted, by_name):
        np.testing.assert_array_equal(model.predict_proba(named), probabilities)
    with pytest.raises(UserError, match=r"write data\.text=\[first,second\]"):
        TextClassifier(SMALL).fit(pairs, reviews[1])


def test_texts_may_be_a_table(fitted: TextClassifier, reviews: tuple[pd.Series, pd.Series]) -> None:
    frame = pd.DataFrame({"id": range(39), "review": reviews[0], "label": reviews[1]})
    data = Dataset.from_pandas(frame)
    for texts in (data, data.select_columns(["review"])):
        copy = clone(fitted).set_params(**{"data.text": "review"}).fit(texts, data["label"])
        np.testing.assert_array_equal(copy.predict_proba(texts), fitted.predict_proba(reviews[0]))


def test_all_rows_are_trained_on_without_validation(reviews: tuple[pd.Series, pd.Series], tmp_path: Path) -> None:
    options = [*SMALL, "data.val_fraction=0"]
    classifier = TextClassifier(options, folder=tmp_path / "run").fit(*reviews)
    (member,) = classifier.model_.members
    assert member.card.texts == 39
    content = torch.load(tmp_path / "run/checkpoints/best.ckpt", weights_only=True)
    assert content["epoch"] == 1  # the last one
    assert all(
        torch.equal(value, content["state_dict"][f"model.{name}"]) for name, value in member.model.state_dict().items()
    )
    with pytest.raises(UserError, match=r"model\.branch: validation texts choose c=null and weight=null"):
        TextClassifier(["data.val_fraction=0", "experiment=recommended"]).fit(*reviews)


def test_columns_beside_the_text_are_read_from_a_frame() -> None:
    """The column tells the label, and the words do not; searches and folds select rows of the frame."""
    rng = np.random.default_rng(0)
    labels = np.arange(89) % 2
    texts = [" ".join(rng.choice(["good", "bad", "film"], 5)) for _ in labels]
    frame = pd.DataFrame({"comment": texts, "age": 20 + 30 * labels, "label": "unused"})
    classifier = TextClassifier(["data.text=comment", "data.columns=[age]", "model=linear", "callbacks=checkpoints"])
    folds = cross_validate(classifier, frame, labels == 1, cv=2, return_estimator=True)
    assert folds["test_score"].min() == 1.0
    fitted = folds["estimator"][0]
    assert fitted.predict(frame[:3]).tolist() == [False, True, False]
    assert [each.label for each in fitted.explain(frame[:2])] == ["false", "true"]
    with pytest.raises(UserError, match="data: is of type list"):
        classifier.fit(texts, labels)


FOUR, AB = ["t1", "t2", "t3", "t4"], ["a", "b"] * 2


@pytest.mark.parametrize(
    ("options", "data", "weights", "error", "message"),
    [
        ("model/atention=x", (FOUR, AB), None, UserError, r"did you mean model/attention\?"),
        ("task=multilabel", (FOUR, AB), None, ValueError, "the estimator predicts one class of each text"),
        ((), ("text", AB), None, TypeError, "texts must be a list of texts, such as"),
        ((), (["t", 1.5], AB[:2]), None, TypeError, r"texts must be a list of texts, .*, but row 1 is 1.5"),
        ((), (FOUR, ["a"] * 4), None, ValueError, "y has 1 class, 'a', but training needs two or more"),
        ((), (FOUR, ["a", None, "b", float("nan")]), None, ValueError, r"y has no label in rows 1, 3 \(2 in all\), c"),
        ((), (FOUR, AB), [1.0, -1, np.nan, 2], ValueError, r"sample_weight is not a .* in rows 1, 2 \(2 in all\), cou"),
        ((), (FOUR, AB), [1, 0, 1, 0], ValueError, "y has 1 class, 'a', but training needs two or more"),
        ((), (FOUR, AB), [0, 0, 0, 0], ValueError, "sample_weight is zero for all texts"),
        ("data.weight=w", (FOUR, AB), [1, 1, 1, 1], ValueError, r"data\.weight already names a column of weights"),
    ],
)
def test_mistakes_are_reported(options: Any, data: tuple[Any, Any], weights: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        TextClassifier(options).fit(*data, sample_weight=weights)
    with pytest.raises(NotFittedError):
        TextClassifier().predict(FOUR)


@pytest.mark.parametrize("model", [SMALL, ["model=linear", "callbacks=checkpoints"]], ids=["neural", "linear"])
def test_texts_count_by_their_weights(model: list[str], reviews: tuple[pd.Series, pd.Series]) -> None:
    texts, labels = reviews

    def probabilities(rows: Any, weights: Any) -> np.ndarray:
        return TextClassifier(model).fit(texts[rows], labels[rows], sample_weight=weights).predict_proba(texts)

    kept = np.arange(39) % 3 > 0
    plain = probabilities(kept, None)
    np.testing.assert_array_equal(probabilities(range(39), 0.3 * kept), plain)
    shifted = probabilities(kept, np.where(labels[kept] == "neutral", 20, 1)) - plain
    assert (shifted[:, 1] > 0).all()


class RowClassifier(TextClassifier):
    """Reads rows of numbers, which the checks of scikit-learn use, as texts with a word for each number."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RowClassifier":
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        rows = check_array(X, estimator=self)
        self.n_features_in_ = rows.shape[1]
        return super().fit(_words(rows), y, sample_weight)

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = check_array(X, estimator=self)
        if rows.shape[1] != self.n_features_in_:
            expected = f"RowClassifier is expecting {self.n_features_in_} features as input"
            raise ValueError(f"X has {rows.shape[1]} features, but {expected}")
        return super().predict_proba(_words(rows))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, False, True
        return tags


def _words(rows: np.ndarray) -> list[str]:
    return [" ".join(f"c{column}v{round(2 * float(value))}" for column, value in enumerate(row)) for row in rows]


# Checks of rows of numbers, which only RowClassifier reads, and of what is tested above and for all ways to predict
WEEKLY = (
    "memmap|dtype|contiguous|fit2d|n_features|positive_only|nan_inf|not_an_array|pandas|classifiers_classes"
    "|classifiers_train|weights_list|weights_not|weight_equi|invariance|idempotent|pipeline|pickle"
)


def checks() -> Iterator[Any]:
    """The checks of scikit-learn."""
    estimator = RowClassifier([*TINY, "trainer.max_epochs=1", "optimizer.lr=0.1", "data.batch_size=10"])
    failing = {"check_sample_weight_equivalence_on_dense_data": "an epoch has n draws"}
    for pair in estimator_checks_generator(estimator, expected_failed_checks=failing, mark="xfail"):
        values, marks = getattr(pair, "values", pair), [*getattr(pair, "marks", ())]
        weekly = [pytest.mark.weekly] if re.search(WEEKLY, str(values[1])) else []
        yield pytest.param(*values, marks=[*marks, *weekly], id=values[1].func.__name__)


@pytest.mark.parametrize(("estimator", "check"), [*checks()])
def test_the_checks_of_scikit_learn_pass(estimator: Any, check: Any) -> None:
    check(estimator)


def test_a_class_of_blank_texts_is_never_predicted() -> None:
    texts = [f"{word} thing {i}" for i in range(20) for word in ("fine", "poor")] + [" "] * 3
    labels = ["pos", "neg"] * 20 + ["odd"] * 3
    fitted = TextClassifier(SMALL).fit(texts, labels)
    probabilities = fitted.predict_proba(["fine thing", "poor thing"])
    assert fitted.classes_.tolist() == ["neg", "odd", "pos"] and probabilities[:, 1].tolist() == [0.0, 0.0]
    assert probabilities.sum(1) == pytest.approx(1)
    known = fitted.classes_[probabilities.argmax(1)].tolist()
    assert fitted.predict(["fine thing", " ", "poor thing"]).tolist() == [known[0], None, known[1]]
    assert np.isnan(fitted.predict_proba([" "])).any()
    assert fitted.score(["fine thing", " ", "poor thing"], [known[0], "odd", known[1]]) == pytest.approx(2 / 3)
