"""Scores of added metrics against those that Heed computes itself, and their intervals against the bootstrap."""

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from torchmetrics.functional import cohen_kappa

from src import build
from src.run_result import Score
from src.terms.added_metrics import added_score
from src.terms.evaluation import evaluate
from src.terms.scores import ScoreType
from tests.run_folders import predictions


def build_metric(target: str, num_classes: int, **options: object) -> ScoreType:
    node = {"_target_": f"torchmetrics.classification.{target}", **options}
    return added_score(build.metric(OmegaConf.create({"metrics": {"added": node}}), "added", num_classes), "added")


@pytest.mark.parametrize(
    ("target", "name"), [("MulticlassF1Score", "f1_macro"), ("MulticlassRecall", "recall_macro"), ("AUROC", "auroc")]
)
def test_score_and_interval_agree_with_those_of_the_default_metric(target: str, name: str) -> None:
    probabilities, labels = predictions(997, 3, seed=1)
    scores = evaluate(probabilities, labels, added={"added": build_metric(target, 3)})
    score, expected = scores["added"], scores[name]
    assert (score.value, score.n) == (pytest.approx(expected.value, abs=1e-6), 997)
    assert score.low is not None and score.high is not None and expected.low is not None and expected.high is not None
    assert score.high - score.low == pytest.approx(expected.high - expected.low, rel=0.25)


def test_a_binary_metric_scores_the_second_class() -> None:
    """Labels 0 1 1 0 with p(class 1) = 0.9 0.8 0.3 0.1: one hit, one false alarm, one miss."""
    positive = np.array([0.9, 0.8, 0.3, 0.1])
    f1 = build_metric("BinaryF1Score", 2)
    terms = f1.terms(np.stack([1 - positive, positive], 1), np.array([0, 1, 1, 0]))
    assert terms is not None and terms.mean() == pytest.approx(2 / 4)
    assert not f1.lower_is_better and build_metric("BinaryHammingDistance", 2).lower_is_better


@pytest.mark.parametrize("n", [1, 53, 1009])
def test_the_terms_are_values_of_groups_of_texts(n: int) -> None:
    probabilities, labels = predictions(n, 2)
    terms = build_metric("CohenKappa", 2).terms(probabilities, labels)
    expected = cohen_kappa(
        torch.from_numpy(probabilities).argmax(1), torch.from_numpy(labels), "multiclass", num_classes=2
    )
    if n == 1:
        assert terms is None or len(terms) == 1
    else:
        assert terms is not None and len(terms) == min(n, 100)
        assert terms.mean() == pytest.approx(float(expected), abs=1e-6)


def test_the_interval_ends_at_the_highest_value() -> None:
    labels = np.array([0, 1] * 20)
    predicted = np.where(np.arange(40) == 3, 0, labels)
    score = evaluate(np.eye(2)[predicted], labels, added={"f1": build_metric("MulticlassF1Score", 2)})["f1"]
    assert score.high == 1 and score.value is not None and score.value < 1


def test_equal_values_have_no_interval() -> None:
    score = evaluate(np.eye(2)[[0, 1] * 3], np.array([0, 1] * 3), added={"f1": build_metric("MulticlassF1Score", 2)})
    assert score["f1"] == Score(1.0, None, None, 6)
