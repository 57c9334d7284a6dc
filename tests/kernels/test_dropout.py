"""Dropout: the fraction of dropped elements, the scale of the others, and repetition by a seed."""

import pytest
import torch

from heedful.kernels.layers import Dropout, dropout


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.3, 0.5, 0.9])
def test_elements_are_dropped_with_the_probability_of_the_rate(rate: float) -> None:
    torch.manual_seed(0)
    ones = torch.ones(1009, 997)
    dropped = dropout(ones, rate)
    fraction = (dropped == 0).double().mean()
    # the elements of a row depend on the same threshold, which is rounded up or down by at most 1/256
    deviation = (rate * (1 - rate) / ones.numel() + 1 / 4 / 256**2 / len(ones)) ** 0.5
    assert abs(fraction - rate) < 5 * deviation + 2**-17
    scaled = dropped[dropped != 0]
    torch.testing.assert_close(scaled, torch.full_like(scaled, 1 / (1 - rate)), rtol=1e-4, atol=0)


def test_elements_are_dropped_independently() -> None:
    torch.manual_seed(0)
    mask = dropout(torch.ones(499, 503), 0.3) != 0
    for first, second in ((mask[1:], mask[:-1]), (mask[:, 1:], mask[:, :-1])):  # vertical and horizontal neighbours
        both_fraction = (first & second).double().mean()
        assert abs(both_fraction - 0.49) < 5 * (0.49 * 0.51 / first.numel()) ** 0.5


def test_gradients_are_zero_for_dropped_elements_and_scaled_for_others() -> None:
    values = torch.randn(7, 11, dtype=torch.float64, requires_grad=True)
    result = dropout(values, 0.5)
    (gradient,) = torch.autograd.grad(result.sum(), values)
    assert torch.equal(gradient, torch.where(result == 0, 0.0, 2.0).double())


def test_a_seed_repeats_the_mask_and_the_next_call_differs() -> None:
    def draw() -> torch.Tensor:
        return dropout(torch.ones(5, 13), 0.5)

    torch.manual_seed(1)
    first, second = draw(), draw()
    torch.manual_seed(1)
    assert torch.equal(draw(), first) and not torch.equal(first, second)


def test_dropout_preserves_shape_and_type_and_does_not_apply_in_evaluation() -> None:
    for shape in ((3,), (2, 3, 5), (0, 3)):
        values = torch.ones(shape, dtype=torch.bfloat16)
        dropped = Dropout(0.5)(values)
        assert dropped.shape == values.shape and dropped.dtype == values.dtype
    module = Dropout(0.5).eval()
    assert torch.equal(module(torch.ones(7, 11)), torch.ones(7, 11))
