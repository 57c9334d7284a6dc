"""Dropout: how often, by how much, and that a seed repeats it."""

import pytest
import torch

from src.kernels.dropout import Dropout, DropoutMask, dropout


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.3, 0.5, 0.9])
def test_a_number_is_dropped_as_often_as_the_rate_says(rate: float) -> None:
    torch.manual_seed(0)
    ones = torch.ones(1009, 997)
    dropped = dropout(ones, rate)
    share = (dropped == 0).double().mean()
    # numbers of a row share a threshold, 1/256 wide at most, besides their own chance
    deviation = (rate * (1 - rate) / ones.numel() + 1 / 4 / 256**2 / len(ones)) ** 0.5
    assert abs(share - rate) < 5 * deviation + 2**-17
    grown = dropped[dropped != 0]
    torch.testing.assert_close(grown, torch.full_like(grown, 1 / (1 - rate)), rtol=1e-4, atol=0)


def test_numbers_are_dropped_each_for_itself() -> None:
    torch.manual_seed(0)
    mask = dropout(torch.ones(499, 503), 0.3) != 0
    for first, second in ((mask[1:], mask[:-1]), (mask[:, 1:], mask[:, :-1])):  # neighbours below and beside
        both = (first & second).double().mean()
        assert abs(both - 0.49) < 5 * (0.49 * 0.51 / first.numel()) ** 0.5


def test_a_rate_just_below_one_keeps_a_number_in_256() -> None:
    assert DropoutMask(0.9999).scale == 256


def test_gradients_pass_where_numbers_do() -> None:
    numbers = torch.randn(7, 11, dtype=torch.float64, requires_grad=True)
    result = dropout(numbers, 0.5)
    (gradient,) = torch.autograd.grad(result.sum(), numbers)
    assert torch.equal(gradient, torch.where(result == 0, 0.0, 2.0).double())


def test_a_seed_repeats_it_and_the_next_call_differs() -> None:
    def draw() -> torch.Tensor:
        return dropout(torch.ones(5, 13), 0.5)

    torch.manual_seed(1)
    first, second = draw(), draw()
    torch.manual_seed(1)
    assert torch.equal(draw(), first) and not torch.equal(first, second)


def test_it_keeps_shape_and_type_and_spares_evaluation() -> None:
    for shape in ((3,), (2, 3, 5), (0, 3)):
        numbers = torch.ones(shape, dtype=torch.bfloat16)
        dropped = Dropout(0.5)(numbers)
        assert dropped.shape == numbers.shape and dropped.dtype == numbers.dtype
    module = Dropout(0.5).eval()
    assert torch.equal(module(torch.ones(7, 11)), torch.ones(7, 11))
