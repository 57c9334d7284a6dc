"""Linear recurrences as parallel scans, against a loop over the tokens in float64."""

import pytest
import torch
from torch import Tensor

from heedful.kernels import scan
from heedful.kernels.scan import linear_recurrence

N, D = 2, 3


def loop(decays: Tensor, inputs: Tensor) -> Tensor:
    state, states = torch.zeros_like(inputs[:, 0]), []
    for decay, term in zip(decays.unbind(1), inputs.unbind(1), strict=True):
        state = decay * state + term
        states.append(state)
    return torch.stack(states, 1)


def random(length: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(length)
    decays = torch.rand(N, length, D, dtype=torch.float64, generator=generator)
    inputs = torch.randn(N, length, D, dtype=torch.float64, generator=generator)
    return decays.to(dtype).requires_grad_(), inputs.to(dtype).requires_grad_()


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 16, 17, 97])
@pytest.mark.parametrize("any_length", [False, True])
def test_states_and_gradients_equal_those_of_a_loop(length: int, any_length: bool) -> None:
    arguments = random(length)
    states = (scan._scan_any_length if any_length else linear_recurrence)(*arguments)
    expected = loop(*arguments)
    torch.testing.assert_close(states, expected)
    upstream = torch.randn(N, length, D, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    gradients = torch.autograd.grad(states, arguments, upstream)
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, arguments, upstream))


@pytest.mark.parametrize("decay", [0.0, 2**-99, 0.5, 1 - 2**-10, 1.0])
def test_float32_is_exact_to_rounding_in_long_texts(decay: float) -> None:
    """The cumulative products are as small as 2⁻⁹⁹ to the power of 2,003, and the sums have 2,003 terms."""
    _, inputs = random(2003)
    decays = torch.full_like(inputs, decay, requires_grad=True)
    singles = [each.detach().float().requires_grad_() for each in (decays, inputs)]
    states, expected = linear_recurrence(*singles), loop(decays, inputs)
    gradients = torch.autograd.grad(states.square().sum(), singles)
    others = torch.autograd.grad(expected.square().sum(), (decays, inputs))
    for value, other in ((states, expected), *zip(gradients, others, strict=True)):
        assert (value.double() - other).abs().max() <= 1e-5 * other.abs().max()


def test_a_compiled_scan_takes_texts_of_any_length() -> None:
    compiled = torch.compile(linear_recurrence, backend="eager", dynamic=True)
    for length in (5, 13):
        torch.testing.assert_close(compiled(*random(length)), loop(*random(length)))
