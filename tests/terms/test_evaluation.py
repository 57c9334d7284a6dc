"""Scores against values computed by hand and simple references; intervals against theory."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, t

from heedful.runs.result import ClassScore, Score
from heedful.runs.run_files import Predictions
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.regression import Regression
from heedful.tasks.score_intervals import calibration_interval, wilson_interval
from heedful.tasks.scores import SCORES
from heedful.terms.evaluation import evaluate, evaluate_splits, score_differences
from tests.helpers import classified
from tests.run_folders import predictions

POSITIVE = np.array([0.91, 0.23, 0.41, 0.82, 0.57])  # p(class 1)
LABELS = np.array([1, 0, 1, 1, 0])  # predicted: 1 0 0 1 1
NAMED = Multiclass(("ham", "spam", "REFUND"))


def test_scores_by_hand() -> None:
    """tests/terms/test_scores.py compares the other scores with those of torchmetrics."""
    scores = evaluate(classified(np.stack([1 - POSITIVE, POSITIVE], 1), LABELS), majority=1)
    assert {score.n for score in scores.values()} == {5}
    for name, score in scores.items():
        assert score.value is not None
        if name in SCORES and SCORES[name].is_by_class:  # there are two texts of class 0
            assert score.low is score.high is None
        else:
            assert score.low is not None and score.high is not None and score.low <= score.value <= score.high
    assert scores["majority_acc"].value == 3 / 5
    assert scores["brier"].value == pytest.approx(2 * (0.09**2 + 0.23**2 + 0.59**2 + 0.18**2 + 0.57**2) / 5)
    assert scores["nll"].value == pytest.approx(-math.log(0.91 * 0.77 * 0.41 * 0.82 * 0.43) / 5)


def test_the_correlation_of_a_constant_prediction_is_zero() -> None:
    """Nine texts of class 0 and one of class 1, all predicted as class 0."""
    metrics = evaluate(classified(np.tile([0.8, 0.2], (10, 1)), np.array([1] + [0] * 9)), majority=0)
    assert metrics["acc"] == metrics["majority_acc"] and metrics["acc"].value == 0.9
    assert (metrics["mcc"].value, metrics["balanced_acc"].value) == (0, 0.5)


def test_balanced_accuracy_omits_classes_without_texts() -> None:
    """Class 2 is predicted once and has no text: macro precision counts it as 0."""
    probabilities = np.eye(3)[[0, 0, 1, 2]]
    metrics = evaluate(classified(probabilities, np.array([0, 1, 1, 1])))
    assert metrics["balanced_acc"].value == pytest.approx((1 + 1 / 3) / 2)
    assert metrics["precision_macro"].value == pytest.approx((1 / 2 + 1) / 3)


def test_nll_of_a_confident_error_is_finite() -> None:
    metrics = evaluate(classified(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 0])))
    assert metrics["nll"].value == pytest.approx((-math.log(2**-23) + math.log(2)) / 2)


def test_absent_class_has_no_auroc_and_constant_score_no_interval() -> None:
    metrics = evaluate(classified(np.tile([0.2, 0.8], (8, 1)), np.ones(8, dtype=int)))
    assert metrics["auroc"] == Score(None, None, None, 8)
    assert metrics["f1_macro"] == Score(1.0, None, None, 8)  # class 0 is neither true nor predicted


def test_the_accuracy_of_a_single_text_has_an_interval() -> None:
    metrics = evaluate(classified(np.array([[0.3, 0.7]]), np.array([0])))
    assert metrics["acc"].value == 0 and metrics["acc"].high == pytest.approx(0.793, abs=1e-3)


@pytest.mark.parametrize("count, n", [(0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (2501, 25_000), (24_999, 25_000)])
def test_wilson_interval_equals_scipy(count: int, n: int) -> None:
    expected = binomtest(count, n).proportion_ci(0.95, "wilson")
    assert wilson_interval(count, n) == pytest.approx((expected.low, expected.high), abs=1e-15)


def test_area_interval_by_hand() -> None:
    """DeLong's variance of the area on the logit scale, and Student's t for the 43 texts of the rarer class."""
    probabilities, labels = predictions(101, 2)
    probabilities = probabilities.round(1)  # so that there are ties, which count half
    metric = evaluate(classified(probabilities, labels))["auroc"]
    above = (np.sign(probabilities[labels == 1, 1][:, None] - probabilities[labels == 0, 1]) + 1) / 2
    area = above.mean()
    variance = above.mean(1).var(ddof=1) / above.shape[0] + above.mean(0).var(ddof=1) / above.shape[1]
    half = t.ppf(0.975, min(above.shape) - 1) * math.sqrt(variance) / (area * (1 - area))
    low, high = (1 / (1 + math.exp(-logit)) for logit in (math.log(area / (1 - area)) + half * np.array([-1, 1])))
    assert (metric.value, metric.low, metric.high) == pytest.approx((area, low, high))


@pytest.mark.parametrize("shift", [0.0, 0.03, 0.1])
def test_calibration_interval_covers_the_error_of_the_model(shift: float) -> None:
    """The accuracy at each confidence is the confidence minus `shift`."""
    rng, intervals = np.random.default_rng(3), []
    for _ in range(300):
        confidences = rng.uniform(0.6, 1, 503)
        correct = (rng.random(503) < confidences - shift).astype(int)
        intervals.append(calibration_interval(np.stack([1 - confidences, confidences], 1), correct))
    assert np.mean([low <= shift <= high for low, high in intervals]) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 300)


def test_intervals_are_computed_over_groups_of_texts() -> None:
    """Four groups of 3 texts: two have all right, one has one right, one has none right."""
    labels, groups = np.array([0, 1] * 6), np.repeat([7, 5, 3, 2], 3)
    hits = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
    probabilities = np.eye(2)[np.where(hits, labels, 1 - labels)] * 0.6 + 0.2
    scores = evaluate(classified(probabilities, labels, groups))
    assert {name for name, score in scores.items() if score.low is None} == {
        *("balanced_acc", "precision_macro", "f1_macro", "auroc"),  # each class is in four groups
        "ece",  # its interval assumes independent texts
    }
    by_group = np.array([1, 1, 1 / 3, 0])
    for name, terms in {"brier": np.where(hits, 0.08, 1.28), "nll": -np.log(np.where(hits, 0.8, 0.2))}.items():
        means = terms.reshape(4, 3).mean(1)
        half = t.ppf(0.975, 3) * means.std(ddof=1) / 2
        expected = (means.mean(), max(0, means.mean() - half), min(SCORES[name].high, means.mean() + half))
        assert (scores[name].value, scores[name].low, scores[name].high) == pytest.approx(expected)
    effective, quantile = (7 / 12) * (5 / 12) / (by_group.var(ddof=1) / 4), t.ppf(0.975, 3)
    assert (scores["acc"].low, scores["acc"].high) == pytest.approx(
        wilson_interval(effective * 7 / 12, effective, quantile)
    )
    difference = score_differences(
        *(classified(each, labels, groups) for each in (probabilities, probabilities[:, ::-1]))
    )["acc"]
    half = quantile * 2 * by_group.std(ddof=1) / 2
    ends = (max(-1, 1 / 6 - half), min(1, 1 / 6 + half))  # of a difference of shares
    assert difference == Score(*map(pytest.approx, (1 / 6, *ends)), 12)


def test_the_accuracy_of_equal_hits_counts_groups() -> None:
    probabilities, labels = np.tile([0.8, 0.2], (12, 1)), np.zeros(12, dtype=int)
    score = evaluate(classified(probabilities, labels, np.repeat(np.arange(4), 3)))["acc"]
    quantile = t.ppf(0.975, 3)
    assert (score.value, score.low, score.high) == pytest.approx((1, 4 / (4 + quantile**2), 1))
    assert evaluate(classified(probabilities, labels, np.zeros(12, dtype=int)))["acc"] == Score(1.0, None, None, 12)


def test_means_over_classes_with_few_texts_and_differences_in_calibration_have_no_interval() -> None:
    probabilities, labels = predictions(53, 3)
    labels = np.where((labels == 2) & (np.cumsum(labels == 2) > 4), 0, labels)
    assert NAMED.describe_rare_classes(labels, None) == "REFUND: 4 test texts"
    scores, others = evaluate(classified(probabilities, labels)), probabilities[:, [1, 0, 2]]
    by_class = {"balanced_acc", "precision_macro", "f1_macro", "auroc"}
    assert {name for name, score in scores.items() if score.low is None} == by_class
    differences = score_differences(classified(probabilities, labels), classified(others, labels))
    assert {name for name, score in differences.items() if score.low is None} == by_class | {"ece"}
    labels[labels == 2] = np.array([0, 0, 0, 2])
    groups = np.arange(53) % 4
    assert NAMED.describe_rare_classes(labels, None) == "REFUND: 1 test text"
    assert NAMED.describe_rare_classes(labels, groups).startswith("ham: ")
    assert NAMED.describe_rare_classes(labels, groups).endswith("in 4 groups, REFUND: 1 test text")


def test_differences_are_paired() -> None:
    first = np.stack([1 - POSITIVE, POSITIVE], 1)
    second = first[:, ::-1].copy()  # right where the first is wrong
    second[2] = first[2]
    differences = score_differences(classified(first, LABELS), classified(second, LABELS))
    each = np.array([1, 1, 0, 1, -1])
    half = t.ppf(0.975, 4) * each.std(ddof=1) / math.sqrt(5)
    assert differences["acc"] == Score(*map(pytest.approx, (2 / 5, 2 / 5 - half, 1)), 5)  # where the difference ends
    log_odds = np.log(POSITIVE / (1 - POSITIVE))
    assert differences["nll"].value == pytest.approx(np.mean(log_odds * [-1, 1, 0, -1, 1]))
    assert "auroc" not in score_differences(classified(first[:1], LABELS[:1]), classified(second[:1], LABELS[:1]))


def test_equal_predictions_differ_by_zero_without_an_interval() -> None:
    first = np.stack([1 - POSITIVE, POSITIVE], 1)
    assert set(score_differences(*[classified(first, LABELS)] * 2).values()) == {Score(0.0, None, None, 5)}


@pytest.mark.parametrize(
    ("predicted", "labels", "warns"),
    [([0, 0, 0], [0, 1, 0], True), ([0, 1, 0], [0, 1, 0], False), ([0, 0, 0], [0, 0, 0], False)],
)
def test_a_model_that_predicts_only_one_class_causes_a_warning(predicted, labels, warns, caplog) -> None:
    classes, index = ["ham", "spam"], np.arange(len(labels))
    evaluate_splits(
        {"test": Predictions("test", np.eye(2)[predicted], np.array(labels), Multiclass(tuple(classes)), index)},
        {},
        0,
        {},
    )
    assert bool(caplog.records) == warns
    if warns:
        assert "All 3 test texts are predicted as 'ham'" in caplog.text
        assert "loss.class_weights=balanced" in caplog.text


def test_f1_of_a_class_has_an_interval_over_texts() -> None:
    """By hand for class 0 of 10 texts: 4 hits, 1 missed, 2 wrong: F1 = 8/11, with the terms F1 + (2 h - F1 w) / 1.1."""
    labels = np.array([0] * 5 + [1] * 5)
    predicted = np.array([0, 0, 0, 0, 1, 0, 0, 1, 1, 1])
    _, classes, _ = evaluate_splits({"test": classified(np.eye(2)[predicted], labels)}, {}, 0, {})
    f1, whole = 8 / 11, np.array([2, 2, 2, 2, 1, 1, 1, 0, 0, 0])
    terms = f1 + (2 * np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0]) - f1 * whole) / 1.1
    half = t.ppf(0.975, 9) * terms.std(ddof=1) / math.sqrt(10)
    score = classes["test"]["0"]
    assert (score.f1, score.f1_low, score.f1_high) == pytest.approx((f1, f1 - half, min(1, f1 + half)))


def test_intervals_of_numbers_are_symmetric_on_the_scale_of_the_score() -> None:
    """Fisher's z with the variance of the terms, and the logarithm of the root mean squared error."""
    rng = np.random.default_rng(3)
    targets = rng.normal(size=23)
    values = targets + 0.4 * rng.normal(size=23)
    task = Regression()
    scores = evaluate(Predictions("test", values[:, None], targets, task, np.arange(23)))
    r, z = np.corrcoef(values, targets)[0, 1], np.arctanh
    assert scores["pearson"].value == pytest.approx(r)
    assert z(scores["pearson"].high) - z(r) == pytest.approx(z(r) - z(scores["pearson"].low))
    squares = (values - targets) ** 2
    root = np.sqrt(squares.mean())
    half = t.ppf(0.975, 20) * squares.std(ddof=3) / (2 * squares.mean() * np.sqrt(23))
    assert (scores["rmse"].low, scores["rmse"].high) == pytest.approx((root * np.exp(-half), root * np.exp(half)))
    tiny = evaluate(Predictions("test", 1e-30 * values[:, None], 1e-30 * targets, task, np.arange(23)))["rmse"]
    assert (tiny.low, tiny.high) == pytest.approx((1e-30 * scores["rmse"].low, 1e-30 * scores["rmse"].high))


def test_the_interval_of_map_has_the_degrees_of_freedom_of_the_rarest_side() -> None:
    rng = np.random.default_rng(5)
    labels = np.zeros((61, 2), dtype=bool)
    labels[rng.permutation(61)[:7], 0] = labels[rng.permutation(61)[:29], 1] = True
    probabilities = np.clip(0.3 * labels + rng.random((61, 2)) * 0.6, 0.01, 0.99)
    task = Multilabel(("rare", "common"))
    found = evaluate(Predictions("test", probabilities, labels, task, np.arange(61)))["map"]
    terms = task.scores["map"].terms(probabilities, labels)
    p, error = terms.mean(), terms.std() / np.sqrt(61)
    half = t.ppf(0.975, 6) * error / (p * (1 - p))
    assert np.log([found.low / (1 - found.low), found.high / (1 - found.high)]) == pytest.approx(
        [np.log(p / (1 - p)) - half, np.log(p / (1 - p)) + half]
    )


def test_class_scores_and_the_confusion_matrix_by_hand() -> None:
    names = [f"class {c}" for c in range(4)]
    found = Predictions("test", np.eye(4)[[0, 0, 1, 2]], np.array([0, 1, 1, 1]), Multiclass(tuple(names)), np.arange(4))
    assert found.confusion_matrix.tolist() == [[1, 0, 0, 0], [1, 1, 1, 0], [0] * 4, [0] * 4]
    assert evaluate_splits({"test": found}, {}, None, {})[1]["test"] == {
        "class 0": ClassScore(1 / 2, 1, 2 / 3, 1),
        "class 1": ClassScore(1, pytest.approx(1 / 3), 1 / 2, 3),
        "class 2": ClassScore(0, 0, 0, 0),  # predicted for one text, but the class of none
        "class 3": ClassScore(None, None, None, 0),
    }
