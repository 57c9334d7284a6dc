"""Normalizers: their weights by hand, and models with each of them."""

import math

import pytest
import torch

from heedful.base.errors import UserError
from heedful.models.component import masked_softmax
from heedful.models.normalizer import Entmax15, Sigmoid, Sparsemax
from tests.models.combinations import ATTENTIONS, choices, compose, texts

NORMALIZERS = [name for name in choices("normalizer") if name != "softmax"]
SCORED = [name for name in ATTENTIONS if name != "none"]


@pytest.mark.parametrize(
    ("normalizer", "scores", "expected"),
    [
        (masked_softmax, [0.0, math.log(3), math.log(4)], [0.125, 0.375, 0.5]),
        (masked_softmax, [6e4, -6e4, 0.0], [1.0, 0.0, 0.0]),  # nearly overflows in half precision
        (Sparsemax(), [1.0, 0.5, -3.0], [0.75, 0.25, 0.0]),  # τ = (1 + 0.5 − 1) / 2
        (Entmax15(), [1.6, 1.2, -0.2], [0.64, 0.36, 0.0]),  # z / 2 = 0.8, 0.6, −0.1 and τ = 0
        (Sigmoid(), [math.log(3), math.log(9), 0.0], [0.5, 0.75, 0.25]),  # z − log 3 = 0, log 3, −log 3
    ],
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_the_weights_by_hand(normalizer, scores, expected, dtype) -> None:
    padded = torch.tensor([[*scores, 7.0], [5.0] * 4], dtype=dtype)  # a text of three tokens, and one without tokens
    mask = torch.tensor([[True, True, True, False], [False] * 4])
    tolerance = 1e-9 if dtype == torch.float64 else 2e-3
    for weights in (normalizer(padded, mask), normalizer(padded.T, mask.T, 0).T):
        assert weights.dtype == dtype
        assert weights[0].tolist() == pytest.approx([*expected, 0.0], abs=tolerance)
        assert not weights[1].any()


@pytest.mark.parametrize("attention", SCORED)
@pytest.mark.parametrize("name", NORMALIZERS)
def test_models_predict_with_the_weights_that_they_show(name: str, attention: str) -> None:
    """The output is that of `mix` for the shown weights, and padding does not change it."""
    encoder = "hybrid" if attention == "bahdanau" else "identity"
    model = compose(dropout=0.0, encoder=encoder, attention=attention, normalizer=name).double().eval()
    inputs = texts()
    encoded = model.encode(inputs)
    weights = model.attention.weights(encoded)
    torch.testing.assert_close(model(inputs), model.classify(encoded, weights=weights))
    torch.testing.assert_close(model(texts(padded_length=13)), model(inputs))
    torch.testing.assert_close(model.token_weights(inputs).sum(1), torch.ones(len(inputs.ids), dtype=torch.float64))
    rows = weights.sum(-1)
    is_one = torch.isclose(rows, torch.ones_like(rows)) | (rows == 0)
    assert bool(is_one.all()) == (name != "sigmoid") == model.attention.sums_to_one


@pytest.mark.parametrize("attention", ["bahdanau", "windowed", "elementwise"])
@pytest.mark.parametrize("name", NORMALIZERS)
def test_the_normalizer_replaces_softmax_in_encoder_and_attention(name: str, attention: str) -> None:
    softmax, other = (
        compose(dropout=0.0, encoder="transformer", attention=attention, **choice).double().eval()
        for choice in ({}, {"normalizer": name})
    )
    other.load_state_dict(softmax.state_dict())
    (first, _), (second, _) = (model.layer_weights(texts()).values() for model in (softmax, other))
    assert not torch.allclose(first, second)
    assert not torch.allclose(softmax.weights(texts()), other.weights(texts()))


@pytest.mark.parametrize("name", NORMALIZERS)
def test_gradients_are_finite_beside_texts_without_tokens(name: str) -> None:
    model = compose(dropout=0.3, encoder="transformer", attention="multi_head", normalizer=name)
    model(texts((7, 0, 5))).square().sum().backward()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in model.parameters())


def test_a_model_without_scores_is_refused() -> None:
    with pytest.raises(UserError, match=r"^model\.normalizer: encoder and attention have no scores"):
        compose(encoder="bilstm", attention="none", normalizer="sigmoid")
