"""The linear layer with the matrix products of oneDNN, against torch's layer."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from heedful.kernels import layers
from heedful.kernels.layers import Linear


def output_and_gradients(layer: nn.Linear, inputs: torch.Tensor, upstream: torch.Tensor) -> list[torch.Tensor]:
    outputs = layer(inputs)
    return [outputs, *torch.autograd.grad(outputs, [inputs, *layer.parameters()], upstream)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 7, 5), (11, 5)])
def test_outputs_and_gradients_equal_those_of_torch(bias: bool, shape: tuple[int, ...], monkeypatch) -> None:
    torch.manual_seed(0)
    layer = Linear(5, 13, bias)
    plain = nn.Linear(5, 13, bias)
    plain.load_state_dict(layer.state_dict())
    inputs = torch.randn(shape, requires_grad=True)
    upstream = torch.randn(*shape[:-1], 13)
    products = []
    monkeypatch.setattr(layers, "multiply", lambda *args, f=layers.multiply: products.append(args) or f(*args))
    for actual, expected in zip(
        output_and_gradients(layer, inputs, upstream), output_and_gradients(plain, inputs, upstream), strict=True
    ):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    assert len(products) == 3  # the output and the gradients of inputs and weight


def test_frozen_weights_have_no_gradients_and_other_formats_are_supported() -> None:
    torch.manual_seed(0)
    layer = Linear(5, 3)
    layer.weight.requires_grad_(False)
    layer(torch.randn(7, 5)).sum().backward()
    assert layer.weight.grad is None
    torch.testing.assert_close(layer.bias.grad, torch.full((3,), 7.0))
    double = deepcopy(layer).double()
    inputs = torch.randn(7, 5, dtype=torch.float64)
    assert torch.equal(double(inputs), nn.functional.linear(inputs, double.weight, double.bias))
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(inputs.float()).dtype == torch.bfloat16


def test_inference_mode_uses_onednn_and_other_evaluation_uses_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layer = Linear(5, 13).eval()
    inputs = torch.randn(3, 7, 5)
    expected = nn.functional.linear(inputs, layer.weight, layer.bias)
    products = []
    monkeypatch.setattr(layers, "multiply", lambda *args, f=layers.multiply: products.append(args) or f(*args))
    with torch.no_grad():  # as during an export
        assert torch.equal(layer(inputs), expected)
    assert not products
    with torch.inference_mode():
        torch.testing.assert_close(layer(inputs), expected, rtol=1e-5, atol=1e-5)
    assert len(products) == 1


def test_a_compiler_gets_no_operation_of_onednn() -> None:
    """Torch's default compiler cannot compile them, and it also compiles functions that are called between graphs."""
    code = []

    def record(graph: torch.fx.GraphModule, inputs: object) -> object:
        code.append(graph.code)
        return graph.forward

    product = torch.compile(layers.multiply, backend=record)(torch.ones(3, 5), torch.ones(5, 7))  # type: ignore[arg-type]
    assert torch.equal(product, torch.full((3, 7), 5.0))
    assert code and not any("mkldnn" in text for text in code)
