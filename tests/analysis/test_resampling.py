"""A resample as counts has the same scores as the texts repeated by those counts."""

import numpy as np
import pytest

from src.analysis.auroc import auroc
from src.analysis.metrics import confusion_matrix, evaluate, losses
from src.analysis.resampling import RESAMPLES, confusion_scores, replicates
from tests.reports.runs import predictions


@pytest.mark.parametrize("classes", [2, 3])
def test_counts_equal_repetitions(classes: int) -> None:
    probabilities, labels = predictions(23, classes)
    probabilities = probabilities.round(1)  # gives ties
    counts = np.random.default_rng(1).integers(0, 4, (23, 3))
    areas = auroc(counts.astype(float), probabilities, labels)
    for b in range(3):
        repeated = np.repeat(np.arange(23), counts[:, b])
        names = [str(c) for c in range(classes)]
        metrics = evaluate(probabilities[repeated], labels[repeated], names)
        assert areas[b] == pytest.approx(metrics["auroc"].value, abs=1e-6)
        table = confusion_matrix(probabilities[repeated], labels[repeated])
        for name, score in confusion_scores(table[None]).items():
            assert score[0] == pytest.approx(metrics[name].value, abs=1e-6), name


def test_resample_without_a_class_has_no_auroc() -> None:
    counts = np.array([[1.0, 0.0], [1.0, 1.0]])
    areas = auroc(counts, np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1]))
    assert areas[0] == 1.0 and np.isnan(areas[1])


def test_mean_of_replicates_is_near_the_value() -> None:
    probabilities, labels = predictions(211, 3)
    p = probabilities.astype(np.float64)
    samples = replicates(p, labels, losses(p, labels), np.random.default_rng(0))
    assert {len(sample) for sample in samples.values()} == {RESAMPLES}
    metrics = evaluate(probabilities, labels, ["a", "b", "c"])
    for name in ("balanced_acc", "precision_macro", "recall_macro", "f1_macro", "mcc", "auroc", "brier", "nll"):
        standard_error = samples[name].std() / np.sqrt(RESAMPLES)
        assert samples[name].mean() == pytest.approx(metrics[name].value, abs=5 * standard_error + 0.003), name
