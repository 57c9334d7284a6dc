"""Scores of a resample, represented by counts, equal the scores of texts repeated by these counts."""

import numpy as np
import pytest
import torch
from torchmetrics.functional import classification as tm

from src.analysis.auroc import auroc
from src.analysis.metrics import confusion_matrix, evaluate, losses
from src.analysis.resampling import RESAMPLES, confusion_scores, replicates
from tests.reports.runs import predictions


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_by_counts_equal_scores_of_repeated_texts(classes: int) -> None:
    probabilities, labels = predictions(23, classes)
    probabilities = probabilities.round(1)  # so that there are ties
    counts = np.random.default_rng(1).integers(0, 4, (23, 3))
    areas = auroc(counts.astype(float), probabilities, labels)
    for b in range(3):
        rows = np.repeat(np.arange(23), counts[:, b])
        p, y = torch.from_numpy(probabilities[rows]), torch.from_numpy(labels[rows])
        area = tm.binary_auroc(p[:, 1], y) if classes == 2 else tm.multiclass_auroc(p, y, classes)
        assert areas[b] == pytest.approx(area.item(), abs=1e-6)
        scores = confusion_scores(confusion_matrix(probabilities[rows], labels[rows])[None])
        predicted = torch.from_numpy(probabilities[rows].argmax(1))
        expected = {
            "precision_macro": tm.multiclass_precision(predicted, y, classes, "macro"),
            "recall_macro": tm.multiclass_recall(predicted, y, classes, "macro"),
            "f1_macro": tm.multiclass_f1_score(predicted, y, classes, "macro"),
            "mcc": tm.multiclass_matthews_corrcoef(predicted, y, classes),
        }
        for name, value in expected.items():
            assert scores[name][0] == pytest.approx(value.item(), abs=1e-6), name
        assert scores["balanced_acc"][0] == scores["recall_macro"][0]  # every class has texts


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
