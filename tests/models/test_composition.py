"""Properties of all combinations of the encoders, attention mechanisms and poolings that have a YAML file."""

from functools import cache
from typing import Any

import pytest
import torch

from heedful.data.padded_batches import Inputs
from heedful.models.classifier import Classifier, mean_weights
from heedful.models.component import Encoded
from tests.models.combinations import (
    ATTENTIONS,
    ENCODERS,
    LENGTHS,
    LOGITS,
    POOLINGS,
    component,
    compose,
    texts,
    with_pooling,
)

RESIDUAL = ("simple_self", "keras", "multi_head", "windowed", "elementwise")


@cache
def build_model(encoder: str, attention: str) -> Classifier:
    """A model with mean pooling, cached because building takes longer than a test; some have a residual connection."""
    torch.manual_seed(0)
    sublayer = {"sublayer": "residual"} if encoder in ("identity", "bigru") and attention in RESIDUAL else {}
    return compose(encoder=encoder, attention=attention, **sublayer).double()


@cache
def pooling_and_head(pooling: str, input_dim: int) -> tuple[Any, Any]:
    torch.manual_seed(0)
    module = component("pooling", pooling, input_dim).double()
    return module, component("head", "linear", module.output_dim, LOGITS).double()


@cache
def contributing_parameters(encoder: str, attention: str) -> frozenset[str]:
    """The parameters that affect the states or the summary; some components use only one of them."""
    model = build_model(encoder, attention).train()
    inputs = texts()
    model.zero_grad()
    encoded = model.encode(inputs)
    output = model.attention(encoded)
    outputs = (encoded.states, encoded.summary, output.states, output.summary)
    torch.stack([tensor.square().sum() for tensor in outputs]).sum().backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    for name, gradient in gradients.items():
        assert torch.isfinite(gradient).all(), name
    return frozenset(gradients)


@cache
@torch.no_grad()
def attention_outputs(encoder: str, attention: str) -> tuple[list[Encoded], Encoded, Encoded]:
    """Inputs of a pooling: from each text alone, from the texts with a longer text, and from empty texts."""
    model = build_model(encoder, attention).eval()
    inputs = texts()

    def attend(inputs: Inputs) -> Encoded:
        return model.attention(model.encode(inputs))

    single = [attend(inputs.of_text(i, n)) for i, n in enumerate(LENGTHS)]
    empty = inputs._replace(mask=torch.zeros_like(inputs.mask))
    return single, attend(texts((*LENGTHS, 13), padded_length=17)), attend(empty)


COMBINATIONS = [
    pytest.param(encoder, attention, pooling, id=f"{encoder}-{attention}-{pooling}")
    for encoder in ENCODERS
    for attention in ATTENTIONS
    for pooling in POOLINGS
]


@pytest.mark.parametrize(("encoder", "attention", "pooling"), COMBINATIONS)
def test_padding_does_not_change_the_logits_and_each_parameter_affects_the_output(
    encoder: str, attention: str, pooling: str
) -> None:
    model = build_model(encoder, attention)
    model = with_pooling(model, *pooling_and_head(pooling, model.attention.output_dim))
    inputs = texts()

    model.train()
    logits = model(inputs)
    assert logits.shape == (len(LENGTHS), LOGITS)
    assert torch.isfinite(logits).all()
    contributing_without_pooling = contributing_parameters(encoder, attention)
    model.zero_grad()
    logits.square().sum().backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is None:
            assert name in contributing_without_pooling, f"{name} does not contribute to the output"
        else:
            assert torch.isfinite(parameter.grad).all(), name

    model.eval()
    single, together, empty = attention_outputs(encoder, attention)
    with torch.no_grad():
        expected = torch.cat([model.head(model.pooling(encoded)) for encoded in single])
        logits = model.head(model.pooling(together))[: len(LENGTHS)]
        assert torch.allclose(logits, expected, rtol=0, atol=1e-10), "padding or a longer text changed the output"
        assert torch.isfinite(model.head(model.pooling(empty))).all(), "an empty text gave NaN"


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_weights_sum_to_one_over_real_tokens(encoder: str, attention: str) -> None:
    model = build_model(encoder, attention).eval()
    inputs = texts(padded_length=11)
    with torch.no_grad():
        weights = model.weights(inputs)  # N×H×T×L
        logits, same_weights = model.forward_with_weights(inputs)
        assert torch.equal(same_weights, weights)
        assert torch.equal(logits, model(inputs))
        encoded = model.encode(inputs)
        # the same weights give the same logits, and other weights give other logits
        assert torch.allclose(model.classify(encoded, weights=weights), logits, rtol=0, atol=1e-10)
        assert not torch.allclose(model.classify(encoded, weights=weights.roll(1, 3)), logits, rtol=0, atol=1e-8)
    assert weights.shape[0] == len(LENGTHS)
    assert weights.shape[3] == inputs.ids.shape[1]
    assert (weights >= 0).all()
    assert (weights.masked_select(~inputs.mask[:, None, None, :].expand_as(weights)) == 0).all(), "weight on padding"
    rows = weights.sum(-1)  # N×H×T
    real = inputs.mask if model.attention.per_token else torch.ones(len(LENGTHS), 1, dtype=torch.bool)
    expected = real[:, None, :].expand_as(rows).double()
    assert torch.allclose(rows, expected, rtol=0, atol=1e-10)
    token_weights = mean_weights(weights)  # N×L
    assert torch.allclose(token_weights.sum(1), torch.ones(len(LENGTHS), dtype=torch.float64), rtol=0, atol=1e-10)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # raised in torch's compiler
@pytest.mark.parametrize(("encoder", "attention"), [("transformer", "structured"), ("bigru", "multi_head")])
def test_a_compiled_model_trains_with_dropout(encoder: str, attention: str) -> None:
    model = compose(encoder=encoder, attention=attention, dropout=0.3).train()
    compiled: Any = torch.compile(model, backend="eager")
    loss = compiled(texts()).sum()
    terms = model.take_auxiliary_losses()
    assert set(terms) == ({"penalty"} if attention == "structured" else set())
    sum(terms.values(), loss).backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)
