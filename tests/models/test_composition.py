"""Properties of all combinations of the encoders, attention mechanisms and poolings that have a YAML file."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.data.padded_batches import Inputs
from heedful.models.classifier import Classifier, mean_weights
from heedful.models.component import Encoded
from tests.models.combinations import (
    ATTENTIONS,
    ENCODERS,
    LENGTHS,
    LOGITS,
    PAIRS,
    POOLINGS,
    component,
    compose,
    texts,
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


@pytest.mark.parametrize(("encoder", "attention"), PAIRS)
def test_each_parameter_affects_the_output_and_has_finite_gradients(encoder: str, attention: str) -> None:
    """Those below a pooling affect the states or the summary, of which some poolings use only one."""
    model = build_model(encoder, attention).train()
    model.zero_grad()
    encoded = model.encode(texts())
    output = model.attention(encoded)
    outputs = (encoded.states, encoded.summary, output.states, output.summary)
    torch.stack([tensor.square().sum() for tensor in outputs]).sum().backward(retain_graph=True)
    ignored = {id(parameter) for module in (model.pooling, model.head) for parameter in module.parameters()}
    below = {name: parameter for name, parameter in model.named_parameters() if id(parameter) not in ignored}
    for name, parameter in below.items():
        assert parameter.grad is not None, f"{name} does not contribute to the output"
        assert torch.isfinite(parameter.grad).all(), name
    logits, above = dict[str, Tensor](), dict[str, nn.Module]()
    for name in POOLINGS:
        pooling, head = pooling_and_head(name, model.attention.output_dim)
        above[name] = nn.ModuleList([pooling, head])
        logits[name] = head(pooling(output))
        assert logits[name].shape == (len(LENGTHS), LOGITS) and torch.isfinite(logits[name]).all(), name
    torch.stack(list(logits.values())).square().sum().backward()
    for name, parameter in (*below.items(), *nn.ModuleDict(above).named_parameters()):
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name
        parameter.grad = None


@torch.no_grad()
def padding_does_not_change_the_logits(encoder: str, attention: str) -> None:
    """With every pooling, for texts alone, with a longer text and without tokens."""
    model, inputs = build_model(encoder, attention).eval(), texts()

    def attend(inputs: Inputs) -> Encoded:
        return model.attention(model.encode(inputs))

    single = [attend(inputs.of_text(i, n)) for i, n in enumerate(LENGTHS)]
    together, empty = (
        attend(texts((*LENGTHS, 13), padded_length=17)),
        attend(inputs._replace(mask=torch.zeros_like(inputs.mask))),
    )
    for name in POOLINGS:
        pooling, head = pooling_and_head(name, model.attention.output_dim)
        expected = torch.cat([head(pooling(encoded)) for encoded in single])
        logits = head(pooling(together))[: len(LENGTHS)]
        assert torch.allclose(logits, expected, rtol=0, atol=1e-10), f"{name}: padding or a longer text changes it"
        assert torch.isfinite(head(pooling(empty))).all(), f"{name}: an empty text gave NaN"


def weights_sum_to_one_over_real_tokens(encoder: str, attention: str) -> None:
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


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("rule", [padding_does_not_change_the_logits, weights_sum_to_one_over_real_tokens])
def test_a_rule_holds_with_every_attention(rule: Callable[[str, str], None], encoder: str) -> None:
    for attention in ATTENTIONS:
        try:
            rule(encoder, attention)
        except Exception as error:
            error.add_note(f"The rule is broken by {encoder} · {attention}")
            raise


@pytest.mark.weekly
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
