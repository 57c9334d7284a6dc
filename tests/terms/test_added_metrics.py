"""Scores of added metrics against those that Heed computes itself, and their intervals against the bootstrap."""

import numpy as np
import pytest
from omegaconf import OmegaConf

from src import build
from src.terms.added_metrics import AddedMetric
from src.terms.evaluation import evaluate
from tests.report.runs import predictions


def build_metric(target: str, num_classes: int, **options: object) -> AddedMetric:
    node = {"_target_": f"torchmetrics.classification.{target}", **options}
    return AddedMetric(build.metric(OmegaConf.create({"metrics": {"added": node}}), "added", num_classes))


@pytest.mark.parametrize(
    ("target", "name"), [("MulticlassF1Score", "f1_macro"), ("MulticlassRecall", "recall_macro"), ("AUROC", "auroc")]
)
def test_score_and_interval_agree_with_those_of_the_default_metric(target: str, name: str) -> None:
    probabilities, labels = predictions(997, 3, seed=1)
    score = build_metric(target, 3).with_interval(probabilities, labels)
    expected = evaluate(probabilities, labels)[name]
    assert (score.value, score.n) == (pytest.approx(expected.value, abs=1e-6), 997)
    assert score.low is not None and score.high is not None and expected.low is not None and expected.high is not None
    assert score.high - score.low == pytest.approx(expected.high - expected.low, rel=0.25)


def test_a_binary_metric_scores_the_second_class() -> None:
    """Labels 0 1 1 0 with p(class 1) = 0.9 0.8 0.3 0.1: one hit, one false alarm, one miss."""
    positive = np.array([0.9, 0.8, 0.3, 0.1])
    f1 = build_metric("BinaryF1Score", 2)
    assert f1(np.stack([1 - positive, positive], 1), np.array([0, 1, 1, 0])) == pytest.approx(2 / 4)
    assert not f1.is_lower_better and build_metric("BinaryHammingDistance", 2).is_lower_better


@pytest.mark.parametrize("n", [1, 53, 1009])
def test_scores_by_group_average_to_the_score(n: int) -> None:
    probabilities, labels = predictions(n, 2)
    kappa = build_metric("CohenKappa", 2)
    scores = kappa.by_group(probabilities, labels)
    if n == 1:
        assert scores is None and kappa.with_interval(probabilities, labels).low is None
    else:
        assert scores is not None and len(scores) == min(n, 100)
        assert scores.mean() == pytest.approx(kappa(probabilities, labels))


def test_the_interval_ends_at_the_highest_value() -> None:
    labels = np.array([0, 1] * 20)
    predicted = np.where(np.arange(40) == 3, 0, labels)
    metric = build_metric("MulticlassF1Score", 2).with_interval(np.eye(2)[predicted], labels)
    assert metric.high == 1 and metric.value is not None and metric.value < 1
