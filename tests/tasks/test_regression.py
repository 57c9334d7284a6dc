"""A number for each text, against numbers computed by hand, SciPy, scikit-learn and derivatives."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
import torch
from sklearn import metrics

from heedful.base.errors import UserError
from heedful.tasks.regression import Regression
from heedful.tasks.stored import read_task, write_task

TASK = Regression(mean=3.0, scale=2.0)
rng = np.random.default_rng(7)
TARGETS = rng.integers(0, 7, 61).astype(np.float32)  # with ties
PREDICTIONS = (0.6 * TARGETS + rng.normal(size=61)).round(1).astype(np.float32)[:, None]


@pytest.mark.parametrize(
    ("label", "fault"),
    [
        ("3", ""),
        ("-2.5e-3", ""),
        ("good", "is not a number"),
        ("1,5", "is not a number"),
        ("1_0", "is not a number"),
        ("nan", "is not a finite number"),
        ("-inf", "is not a finite number"),
        ("1e40", "is not a finite number"),
    ],
)
def test_a_label_is_a_finite_number(label: str, fault: str) -> None:
    assert TASK.fault(label).startswith(fault) and bool(TASK.fault(label)) == bool(fault)


def test_labels_become_numbers_and_labels_again() -> None:
    numbers = TASK.encode(["2.5", "7"], np.array([1, 0, 0]), np.ones(3, dtype=int))
    targets = TASK.recode(numbers, ())
    assert (targets.tolist(), targets.dtype, TASK.decode(targets)) == ([7.0, 2.5, 2.5], np.float32, ["7", "2.5", "2.5"])
    assert TASK.values(targets) == [7.0, 2.5, 2.5]
    with pytest.raises(ValueError, match="every row has the number '3'"):
        TASK.find_classes(["3"])


def test_the_logit_is_the_prediction_in_standard_units() -> None:
    """By hand: of 1, 3 and 8, the mean is 4, and the variance is (9 + 1 + 16) / 3."""
    task = TASK.learn(np.array([1, 3, 8], dtype=np.float32))
    assert (task.mean, task.scale) == pytest.approx((4, (26 / 3) ** 0.5))
    probabilities = TASK.probabilities(torch.tensor([[0.5], [-2.0]]))
    assert probabilities.tolist() == [[4.0], [-1.0]]
    assert TASK.logits(probabilities).tolist() == [[0.5], [-2.0]]
    assert TASK.scaled(torch.tensor([3.0, 6.0])).tolist() == [0.0, 1.5]
    assert read_task(write_task(TASK)) == TASK


def test_strata_are_tenths_if_these_have_ten_texts() -> None:
    numbers = np.random.default_rng(1).permutation(230).astype(np.float32)
    assert np.bincount(TASK.strata(numbers)).tolist() == [23] * 10
    assert sorted(np.bincount(TASK.strata(numbers[:37])).tolist()) == [12, 12, 13]
    assert np.unique(TASK.strata(numbers[:7])).tolist() == [0]


def scores(predictions: np.ndarray, targets: np.ndarray) -> dict[str, float]:
    return {
        "r2": metrics.r2_score(targets, predictions),
        "rmse": metrics.root_mean_squared_error(targets, predictions),
        "mae": metrics.mean_absolute_error(targets, predictions),
        "pearson": scipy.stats.pearsonr(predictions, targets).statistic,
        "spearman": scipy.stats.spearmanr(predictions, targets).statistic,
    }


def test_scores_equal_those_of_scikit_learn_and_scipy() -> None:
    terms = {name: score.terms(PREDICTIONS, TARGETS) for name, score in TASK.scores.items()}
    expected = scores(PREDICTIONS[:, 0].astype(np.float64), TARGETS.astype(np.float64))
    assert {name: each.mean() for name, each in terms.items() if each is not None} == pytest.approx(expected)


@pytest.mark.parametrize("name", TASK.scores)
def test_terms_are_derivatives(name: str) -> None:
    """If the share of a text grows by s, the score changes by about s (term - score)."""
    repeats, compute = 400, TASK.scores[name].terms
    terms = compute(PREDICTIONS, TARGETS)
    for text in range(0, 61, 12):
        counts = np.full(61, repeats)
        counts[text] += repeats // 20
        changed = weighted(compute, counts)
        size = (repeats // 20) / counts.sum()
        assert (changed - terms.mean()) / size == pytest.approx(terms[text] - terms.mean(), rel=0.05, abs=0.01)


def weighted(compute: Callable[[np.ndarray, np.ndarray], np.ndarray | None], counts: np.ndarray) -> float:
    rows = np.repeat(np.arange(61), counts)
    terms = compute(PREDICTIONS[rows], TARGETS[rows])
    return float(terms.mean())


def test_scores_are_undefined_if_all_numbers_are_equal() -> None:
    same = np.full_like(TARGETS, 2)
    assert {name for name, score in TASK.scores.items() if score.terms(PREDICTIONS, same) is None} == {
        *("r2", "pearson", "spearman")
    }
    constant = {name for name, score in TASK.scores.items() if score.terms(same[:, None], TARGETS) is None}
    assert constant == {"pearson", "spearman"}


def test_large_numbers_are_learned_less_an_offset() -> None:
    """By hand: of 0 to 4, the mean is 2, and the variance is 2."""
    names = [str(1700000000 + k) for k in (3, 0, 4, 1, 2)]
    assert Regression().find_classes(names) == ()
    numbers = Regression().encode(names, np.arange(5), np.ones(5, dtype=int))
    task = Regression().learn(numbers)
    assert (task.offset, task.mean, task.scale) == (1700000000.0, 2.0, 2**0.5)
    targets = task.recode(numbers, ())
    assert (targets.tolist(), targets.dtype) == ([3.0, 0.0, 4.0, 1.0, 2.0], np.float32)
    assert task.decode(targets) == names and task.values(targets[:1]) == [1700000003.0]
    shown, labels = task.shown(targets[:, None]), task.shown(targets)
    assert labels.tolist() == numbers.tolist() and task.of_shown.decode(labels) == names
    assert task.scores["rmse"].terms(shown + 1, labels).mean() == 1  # type: ignore[union-attr]
    assert Regression().recode(np.array([0.1]), ()).dtype == np.float32  # without an offset
    with pytest.raises(UserError, match=r"the same offset, not \[0.0, 1700000000.0\]"):
        task.joint([task, TASK])


def test_numbers_that_float32_never_tells_apart_are_refused() -> None:
    with pytest.raises(ValueError, match=r"6 different numbers, such as 0 and 1700000000, .* leave out those that"):
        Regression().find_classes(["0", *(str(1700000000 + k) for k in range(5))])
    with pytest.raises(ValueError, match=r"2 different numbers, such as 9007199254740992 and 9007199254740993, become"):
        Regression().find_classes([str(2**53), str(2**53 + 1)])
