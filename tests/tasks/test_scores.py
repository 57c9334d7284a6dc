"""Terms of scores: their means, and their standard deviations against scores that are computed again for resamples."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from torchmetrics.functional import classification as tm

from heedful.tasks.multiclass import Multiclass
from heedful.tasks.score_intervals import confidence_bins
from heedful.tasks.scores import SCORES
from heedful.tasks.stored import scores_of
from tests.run_folders import predictions


@pytest.mark.parametrize("classes", [2, 5])
def test_means_equal_torchmetrics(classes: int) -> None:
    probabilities, labels = predictions(211, classes, seed=3)
    probabilities = probabilities.round(1)  # so that there are ties
    p, y = torch.from_numpy(probabilities), torch.from_numpy(labels)
    predicted = torch.from_numpy(probabilities.argmax(1))
    area = tm.binary_auroc(p[:, 1], y) if classes == 2 else tm.multiclass_auroc(p, y, classes)
    expected = {
        "acc": tm.multiclass_accuracy(predicted, y, classes, "micro"),
        "balanced_acc": tm.multiclass_accuracy(predicted, y, classes, "macro"),
        "precision_macro": tm.multiclass_precision(predicted, y, classes, "macro"),
        "f1_macro": tm.multiclass_f1_score(predicted, y, classes, "macro"),
        "mcc": tm.multiclass_matthews_corrcoef(predicted, y, classes),
        "auroc": area,
        "ece": tm.multiclass_calibration_error(p, y, classes, n_bins=15),
    }
    for name, value in expected.items():
        by_text = SCORES[name].terms(probabilities, labels)
        assert by_text is not None and by_text.mean() == pytest.approx(value.item(), abs=1e-6), name


@pytest.mark.parametrize("classes", [2, 5])
def test_terms_vary_as_scores_of_resampled_texts(classes: int) -> None:
    """The linearization is compared with scores that are computed again on each resample of the texts."""
    probabilities, labels = predictions(499, classes, seed=4)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 499, (250, 499))
    for name in ("balanced_acc", "precision_macro", "f1_macro", "mcc", "auroc", "nll", "brier"):
        resampled = [np.mean(SCORES[name].terms(probabilities[row], labels[row])) for row in rows]  # type: ignore[arg-type]
        values = SCORES[name].terms(probabilities, labels)
        assert values is not None and values.std() / np.sqrt(499) == pytest.approx(np.std(resampled), rel=0.12), name


def test_bins_include_their_lower_edge_and_the_last_includes_one() -> None:
    assert confidence_bins(np.array([0.0, 0.06, 2 / 30, 0.6, 0.99, 1.0])).tolist() == [0, 0, 1, 9, 14, 14]


def test_the_scores_of_a_task_from_outside_with_a_required_option_are_known() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Stars(Multiclass):
        stars: int
        scores: ClassVar = {"near": SCORES["acc"]}

    assert scores_of({"near"}) is Stars.scores
