import pytest
import torch

from src.models.head import LinearHead, MlpHead

N, D, LOGITS = 5, 7, 3


def test_the_linear_head_follows_the_formula() -> None:
    head = LinearHead(D, LOGITS, dropout=0.5).eval()
    features = torch.randn(N, D)
    expected = features @ head.linear.weight.T + head.linear.bias
    assert torch.allclose(head(features), expected, atol=1e-6)


def test_a_frozen_head_has_no_trainable_parameters() -> None:
    assert not any(p.requires_grad for p in LinearHead(D, LOGITS, freeze=True).parameters())
    assert all(p.requires_grad for p in LinearHead(D, LOGITS).parameters())


def test_the_mlp_follows_the_formula() -> None:
    head = MlpHead(D, LOGITS, hidden_dims=[11, 2], activation="tanh").eval()
    features = torch.randn(N, D)
    weights = [m for m in head.layers if isinstance(m, torch.nn.Linear)]
    assert [(m.in_features, m.out_features) for m in weights] == [(7, 11), (11, 2), (2, 3)]
    hidden = torch.tanh(
        torch.tanh(features @ weights[0].weight.T + weights[0].bias) @ weights[1].weight.T + weights[1].bias
    )
    assert torch.allclose(head(features), hidden @ weights[2].weight.T + weights[2].bias, atol=1e-6)


def test_the_mlp_is_initialized_by_torch_or_with_glorot_uniform() -> None:
    """The bound of the weights is 1/√inputs, or √(6 / (inputs + outputs)) with biases of zero."""
    torch.manual_seed(0)
    sizes = [(97, 53), (53, 11)]
    head = MlpHead(97, 11, hidden_dims=[53])
    layers = [module for module in head.layers if isinstance(module, torch.nn.Linear)]
    for layer, (inputs, _) in zip(layers, sizes, strict=True):
        assert layer.weight.abs().max().item() == pytest.approx(inputs**-0.5, rel=0.05)
        assert layer.bias.any()
    head = MlpHead(97, 11, hidden_dims=[53], init="glorot_uniform")
    layers = [module for module in head.layers if isinstance(module, torch.nn.Linear)]
    for layer, (inputs, outputs) in zip(layers, sizes, strict=True):
        bound = (6 / (inputs + outputs)) ** 0.5
        assert bound * 0.95 < layer.weight.abs().max().item() <= bound
        assert layer.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
        assert not layer.bias.any()
