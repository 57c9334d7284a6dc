"""Losses against their definitions."""

import math

import pytest
import torch
from torch import tensor

from heedful.models.loss import BinaryCrossEntropy, CrossEntropy, Loss

LOGITS = tensor([[math.log(2.0), math.log(3.0), math.log(5.0)], [0.0, 0.0, math.log(8.0)]])
LABELS = tensor([2, 0])


def test_cross_entropy_by_hand() -> None:
    loss = CrossEntropy([1, 1, 1])
    assert loss.num_logits == 3
    assert loss(LOGITS, LABELS).item() == pytest.approx((math.log(2) + math.log(10)) / 2, abs=1e-6)


def test_balanced_weights_are_inverse_to_the_class_frequencies() -> None:
    weights = CrossEntropy([6, 3, 1], class_weights="balanced").class_weights
    assert weights.tolist() == pytest.approx([10 / 18, 10 / 9, 10 / 3])


def test_binary_cross_entropy_equals_cross_entropy_of_two_logits() -> None:
    """One logit z is equivalent to the two logits (0, z)."""
    single, labels = tensor([[0.7], [-1.3], [0.2]]), tensor([1, 1, 0])
    pairs = torch.cat([torch.zeros_like(single), single], 1)
    weights = {"class_weights": [2.0, 3.0]}
    for options in ({}, {"label_smoothing": 0.2}, weights, {"label_smoothing": 0.2, **weights}):
        binary, multi = BinaryCrossEntropy([1, 1], **options), CrossEntropy([1, 1], **options)  # type: ignore[arg-type]
        assert binary(single, labels).item() == pytest.approx(multi(pairs, labels).item(), abs=1e-6)


@pytest.mark.parametrize("kind", [BinaryCrossEntropy, CrossEntropy])
def test_class_weights_apply_to_each_term_of_a_smoothed_target(kind: type[Loss]) -> None:
    """By hand for p = (1/3, 2/3) and (4/5, 1/5), labels 1 and 0, ε = 0.1, w = (1, 3)."""
    logits = tensor([[math.log(2.0)], [-math.log(4.0)]])
    if kind is CrossEntropy:
        logits = torch.cat([torch.zeros_like(logits), logits], 1)
    first = -(3 * 0.95 * math.log(2 / 3) + 1 * 0.05 * math.log(1 / 3))
    second = -(3 * 0.05 * math.log(1 / 5) + 1 * 0.95 * math.log(4 / 5))
    loss = kind([1, 1], label_smoothing=0.1, class_weights=[1.0, 3.0])
    assert loss(logits, tensor([1, 0])).item() == pytest.approx((first + second) / (3 + 1), abs=1e-6)


def test_binary_cross_entropy_far_from_the_label_is_finite_and_has_gradients() -> None:
    logits = tensor([[1000.0], [-1000.0]], requires_grad=True)
    value = BinaryCrossEntropy([1, 1], label_smoothing=0.1, class_weights=[1.0, 3.0])(logits, tensor([0, 1]))
    assert value.item() == pytest.approx((950 + 3 * 950) / 4)
    value.backward()
    assert logits.grad is not None and torch.isfinite(logits.grad).all() and logits.grad.all()


def test_binary_cross_entropy_of_more_than_two_classes_is_refused() -> None:
    with pytest.raises(ValueError, match="one logit separates 2 classes, not 3: use loss=cross_entropy"):
        BinaryCrossEntropy([1, 1, 1])


@pytest.mark.parametrize("weights", ["inverse", [1.0, 2.0], [0, 0, 0], [1e-46, 1e-46, 1e-46]])
def test_impossible_class_weights_are_refused(weights: object) -> None:
    with pytest.raises(ValueError, match="class_weights="):
        CrossEntropy([1, 1, 1], class_weights=weights)  # type: ignore[arg-type]
