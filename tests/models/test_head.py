import torch

from heedful.models.head import LinearHead, MlpHead

N, D, LOGITS = 5, 7, 3


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
