"""States and gradients of RNNs and GRUs in training, against torch's layers."""

import pytest
import torch
from torch import nn

from heedful.kernels import recurrence
from heedful.kernels.recurrence import bidirectional_states, recurrent_states


@pytest.fixture(params=[nn.RNN, nn.GRU])
def rnn(request: pytest.FixtureRequest) -> nn.RNNBase:
    torch.manual_seed(0)
    return request.param(5, 7, batch_first=True)


@pytest.mark.parametrize("length", [1, 2, 11])
def test_states_and_gradients_equal_those_of_torch(rnn: nn.RNNBase, length: int, monkeypatch) -> None:
    calls = []
    kernel = recurrence._KERNELS[type(rnn)]
    apply = kernel.apply
    monkeypatch.setattr(kernel, "apply", lambda *args: calls.append(args) or apply(*args))
    inputs = torch.randn(3, length, 5, requires_grad=True)
    upstream = torch.randn(3, length, 7)
    leaves = [inputs, *rnn.parameters()]
    states, expected = recurrent_states(rnn, inputs), rnn(inputs)[0]
    assert calls
    torch.testing.assert_close(states, expected, rtol=1e-5, atol=1e-6)
    gradients = torch.autograd.grad(states, leaves, upstream)
    expected_gradients = torch.autograd.grad(expected, leaves, upstream)
    for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-4, atol=1e-5)


def test_two_directions_at_once_are_those_of_two_layers(rnn: nn.RNNBase, monkeypatch: pytest.MonkeyPatch) -> None:
    rnns = [rnn, type(rnn)(5, 7, batch_first=True)]
    inputs, mask = torch.randn(3, 11, 5, requires_grad=True), torch.arange(11) < torch.tensor([[11], [4], [1]])
    upstream, found = torch.randn(3, 11, 14), []
    for limit in (recurrence.SMALL, 0):
        monkeypatch.setattr(recurrence, "SMALL", limit)
        states = bidirectional_states(rnns, inputs, mask)
        leaves = [inputs, *rnns[0].parameters(), *rnns[1].parameters()]
        found.append([states, *torch.autograd.grad(states, leaves, upstream)])
    assert all(map(torch.equal, *found))
    assert torch.equal(found[0][0][..., :7], recurrent_states(rnn, inputs))
    backward = recurrent_states(rnns[1], inputs[1:2, :4].flip(1)).flip(1)  # of the second text
    torch.testing.assert_close(found[0][0][1:2, :4, 7:], backward)


def test_in_bf16_the_kernel_computes_in_float32(rnn: nn.RNNBase) -> None:
    inputs = torch.randn(3, 11, 5)
    expected = recurrent_states(rnn, inputs)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(recurrent_states(rnn, inputs), expected)


def test_evaluation_and_empty_batches_use_torchs_layer(rnn: nn.RNNBase) -> None:
    inputs = torch.randn(3, 11, 5)
    for states in (recurrent_states(rnn.eval(), inputs), recurrent_states(rnn, inputs[:0])):
        assert torch.equal(states, rnn(inputs[: len(states)])[0])


@pytest.mark.parametrize(
    "layer",
    [
        nn.RNN(5, 7, nonlinearity="relu", batch_first=True),
        nn.RNN(5, 7, num_layers=2, batch_first=True),
        nn.GRU(5, 7, bidirectional=True, batch_first=True),
        nn.GRU(5, 7, bias=False, batch_first=True),
    ],
    ids=["relu", "two layers", "two directions", "no biases"],
)
def test_layers_that_the_kernels_do_not_compute_use_torchs_layer(layer: nn.RNNBase) -> None:
    inputs = torch.randn(3, 11, 5)
    assert torch.equal(recurrent_states(layer, inputs), layer(inputs)[0])
