"""Losses against their definitions."""

import math

import pytest
import torch
from torch import tensor

from src.models.loss import BinaryCrossEntropy, CrossEntropy

LOGITS = tensor([[math.log(2.0), math.log(3.0), math.log(5.0)], [0.0, 0.0, math.log(8.0)]])
LABELS = tensor([2, 0])


def test_cross_entropy_by_hand() -> None:
    loss = CrossEntropy([1, 1, 1])
    assert loss.num_logits == 3
    assert loss(LOGITS, LABELS).item() == pytest.approx((math.log(2) + math.log(10)) / 2, abs=1e-6)
    assert torch.allclose(loss.probabilities(LOGITS), tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]), atol=1e-6)


def test_label_smoothing_spreads_the_target() -> None:
    smoothed = CrossEntropy([1, 1, 1], label_smoothing=0.3)(LOGITS[:1], LABELS[:1])
    expected = -(0.1 * math.log(0.2) + 0.1 * math.log(0.3) + 0.8 * math.log(0.5))
    assert smoothed.item() == pytest.approx(expected, abs=1e-6)


def test_balanced_weights_are_inverse_to_the_class_shares() -> None:
    weights = CrossEntropy([6, 3, 1], class_weights="balanced").class_weights
    assert weights is not None
    assert weights.tolist() == pytest.approx([10 / 18, 10 / 9, 10 / 3])


def test_class_weights_are_a_weighted_mean() -> None:
    weighted = CrossEntropy([1, 1, 1], class_weights=[3.0, 1.0, 2.0])(LOGITS, LABELS)
    assert weighted.item() == pytest.approx((2 * math.log(2) + 3 * math.log(10)) / 5, abs=1e-6)


def test_binary_equals_cross_entropy_of_two_logits() -> None:
    """One logit z is the two logits (0, z)."""
    one, labels = tensor([[0.7], [-1.3], [0.2]]), tensor([1, 1, 0])
    two = torch.cat([torch.zeros_like(one), one], 1)
    for options in ({}, {"label_smoothing": 0.2}, {"class_weights": [2.0, 3.0]}):
        binary, multi = BinaryCrossEntropy([1, 1], **options), CrossEntropy([1, 1], **options)  # type: ignore[arg-type]
        assert binary(one, labels).item() == pytest.approx(multi(two, labels).item(), abs=1e-6)
        assert torch.allclose(binary.probabilities(one), multi.probabilities(two), atol=1e-6)


def test_binary_refuses_more_classes() -> None:
    with pytest.raises(ValueError, match="one logit separates 2 classes, the data has 3: use loss=cross_entropy"):
        BinaryCrossEntropy([1, 1, 1])


@pytest.mark.parametrize("weights", ["inverse", [1.0, 2.0], [1.0, -1.0, 1.0]])
def test_impossible_class_weights_are_refused(weights: object) -> None:
    with pytest.raises(ValueError, match="class_weights="):
        CrossEntropy([1, 1, 1], class_weights=weights)  # type: ignore[arg-type]
