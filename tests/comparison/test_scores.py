"""Scores as means over texts: their values, and their standard deviations under resampling."""

import numpy as np
import pytest

from src.analysis.metrics import evaluate, losses
from src.analysis.resampling import replicates
from src.comparison.scores import SCORES, scores_by_text
from tests.reports.runs import predictions


@pytest.mark.parametrize("classes", [2, 5])
def test_means_are_the_scores_of_a_run(classes: int) -> None:
    probabilities, labels = predictions(211, classes, seed=3)
    by_text = scores_by_text(probabilities, labels, list(SCORES))
    metrics = evaluate(probabilities, labels, [str(c) for c in range(classes)])
    assert by_text.keys() == SCORES.keys()
    assert {name: float(values.mean()) for name, values in by_text.items()} == pytest.approx(
        {name: metrics[name].value for name in SCORES}, abs=2e-6
    )


@pytest.mark.parametrize("classes", [2, 5])
def test_resampled_means_have_the_standard_deviation_of_resampled_scores(classes: int) -> None:
    """The linearized scores are compared with scores that are recomputed on each resample."""
    probabilities, labels = predictions(997, classes, seed=4)
    p = probabilities.astype(np.float64)
    recomputed = replicates(p, labels, losses(p, labels), np.random.default_rng(0))
    for name, values in scores_by_text(
        probabilities, labels, ["balanced_acc", "f1_macro", "mcc", "auroc", "nll", "brier"]
    ).items():
        assert values.std() / np.sqrt(len(values)) == pytest.approx(recomputed[name].std(), rel=0.1), name


def test_auroc_by_hand() -> None:
    """Of 2 × 2 pairs, three are in order and one is tied: 3.5 / 4."""
    scores = np.array([0.1, 0.4, 0.4, 0.9])
    by_text = scores_by_text(np.stack([1 - scores, scores], 1), np.array([0, 0, 1, 1]), ["auroc"])
    assert by_text["auroc"].mean() == pytest.approx(3.5 / 4)


def test_a_missing_class_omits_auroc() -> None:
    probabilities, labels = predictions(31, 3)
    assert scores_by_text(probabilities, np.where(labels == 2, 0, labels), ["acc", "auroc", "f1_macro"]).keys() == {
        "acc",
        "f1_macro",
    }
