"""Every encoder × attention × pooling, found by their YAML files, holds what the design promises of all."""

from functools import cache

import pytest
import torch

from src.models.classifier import Classifier, mean_weights
from tests.models.combinations import ATTENTIONS, ENCODERS, LENGTHS, LOGITS, POOLINGS, compose, texts


@cache
def composed(encoder: str, attention: str, pooling: str) -> Classifier:
    torch.manual_seed(0)
    return compose(encoder=encoder, attention=attention, pooling=pooling).double()


COMBINATIONS = [
    pytest.param(encoder, attention, pooling, id=f"{encoder}-{attention}-{pooling}")
    for encoder in ENCODERS
    for attention in ATTENTIONS
    for pooling in POOLINGS
]


@pytest.mark.parametrize(("encoder", "attention", "pooling"), COMBINATIONS)
def test_every_combination(encoder: str, attention: str, pooling: str) -> None:
    model = composed(encoder, attention, pooling)
    tokens, mask = texts()

    model.train()
    logits = model(tokens, mask)
    assert logits.shape == (len(LENGTHS), LOGITS)
    assert torch.isfinite(logits).all()
    model.zero_grad()
    logits.square().sum().backward()
    encoded, _ = model._encode(tokens, mask)  # what an attention or a pooling passes over has its part, too
    attended = model.attention(encoded)
    flow = (encoded.states, encoded.summary, attended.states, attended.summary)
    torch.stack([part.square().sum() for part in flow]).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, f"{name} is not part of the answer"
        assert torch.isfinite(parameter.grad).all(), name

    model.eval()
    with torch.no_grad():
        alone = torch.cat([model(tokens[i : i + 1, :n], mask[i : i + 1, :n]) for i, n in enumerate(LENGTHS)])
        together = model(*texts((*LENGTHS, 13), width=17))[: len(LENGTHS)]
        assert torch.allclose(together, alone, rtol=0, atol=1e-10), "padding or a longer text changed an answer"
        assert torch.isfinite(model(tokens, torch.zeros_like(mask))).all(), "an empty text gave NaN"


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_weights_sum_to_one_over_real_tokens(encoder: str, attention: str) -> None:
    model = composed(encoder, attention, "mean").eval()
    tokens, mask = texts(width=11)
    with torch.no_grad():
        weights = model.weights(tokens, mask)  # N×H×T×L
        logits, given = model.forward_with_weights(tokens, mask)
        assert torch.equal(given, weights)
        assert torch.equal(logits, model(tokens, mask))
    assert weights.shape[0] == len(LENGTHS)
    assert weights.shape[3] == tokens.shape[1]
    assert (weights >= 0).all()
    assert (weights.masked_select(~mask[:, None, None, :].expand_as(weights)) == 0).all(), "weight on padding"
    rows = weights.sum(-1)  # N×H×T
    real = mask if weights.shape[2] == mask.shape[1] else torch.ones(len(LENGTHS), 1, dtype=torch.bool)
    expected = real[:, None, :].expand_as(rows).double()
    assert torch.allclose(rows, expected, rtol=0, atol=1e-10)
    tokens_weights = mean_weights(weights)  # N×L
    assert torch.allclose(tokens_weights.sum(1), torch.ones(len(LENGTHS), dtype=torch.float64), rtol=0, atol=1e-10)
