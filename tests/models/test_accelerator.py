"""Training on a device other than the CPU, and in half precision.

Tensors on torch's device `meta` have a shape and a type, but no numbers. An operation that would wait for a number of
an accelerator (`.item()`, `if tensor:`, `nonzero`) therefore raises an error, and so does an operation on two devices.
"""

import pytest
import torch

from heedful.data.padded_batches import Inputs
from heedful.models.classifier import Classifier
from heedful.models.loss import BinaryCrossEntropy, CrossEntropy, Loss
from tests.models.combinations import ATTENTIONS, ENCODERS, LENGTHS, LOGITS, POOLINGS, choices, compose, texts

STEPS = 3


def train_on_meta(model: Classifier, loss: Loss) -> None:
    tokens = torch.ones(2, 3, dtype=torch.int64, device="meta")
    inputs = Inputs(tokens, tokens.bool())
    value = loss.to("meta")(model(inputs), tokens[:, 0])
    value.backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert {tensor.device.type for tensor in (value, *gradients)} == {"meta"}
    with torch.no_grad():
        assert model.weights(inputs).device.type == "meta"


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_combination_trains_on_one_device_without_waiting(encoder: str) -> None:
    loss = CrossEntropy([1] * LOGITS, label_smoothing=0.1, class_weights=[2.0] * LOGITS)
    combinations = [(name, "mean_max") for name in ATTENTIONS] + [("multi_head", name) for name in POOLINGS]
    for attention, pooling in combinations:
        with torch.device("meta"):  # only while building: in a step, a component must specify the device of new tensors
            model = compose(encoder=encoder, attention=attention, pooling=pooling, dropout=0.3)
        train_on_meta(model, loss)


OTHERS = {"embedding": ["learned", "ngrams", "glove"], "position": choices("position"), "head": choices("head")}


@pytest.mark.parametrize(("group", "choice"), [(group, name) for group, names in OTHERS.items() for name in names])
def test_every_other_component_trains_on_one_device_without_waiting(group: str, choice: str) -> None:
    with torch.device("meta"):
        model = compose(encoder="transformer", dropout=0.3, logits=1, **{group: choice})
    train_on_meta(model, BinaryCrossEntropy([1, 1], label_smoothing=0.1, class_weights=[2.0, 3.0]))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_attention_trains_in_bfloat16_on_the_cpu(encoder: str) -> None:
    """After a few steps, the weights of each real token sum to 1 within the precision of bfloat16."""
    torch.manual_seed(0)
    inputs = texts(padded_length=11)
    labels = torch.arange(len(LENGTHS)) % LOGITS
    loss = CrossEntropy([1] * LOGITS)
    models = {name: compose(encoder=encoder, attention=name, pooling="mean_max", dropout=0.1) for name in ATTENTIONS}
    parameters = [parameter for model in models.values() for parameter in model.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            values = {name: loss(model(inputs), labels) for name, model in models.items()}
        assert {name for name, value in values.items() if not value.isfinite()} == set()
        torch.stack(list(values.values())).sum().backward()
        optimizer.step()
    assert all(parameter.isfinite().all() for parameter in parameters)
    for name, model in models.items():
        model.eval()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            logits, weights = model.forward_with_weights(inputs)
        assert logits.isfinite().all(), name
        rows = weights.float().sum(-1)  # N×H×T
        real = inputs.mask[:, None, :] if model.attention.per_token else torch.ones(1, 1, 1, dtype=torch.bool)
        assert torch.allclose(rows, real.expand_as(rows).float(), rtol=0, atol=1e-2), name
        padding = weights.masked_select(~inputs.mask[:, None, None, :].expand_as(weights))
        assert not padding.any(), f"{name}: weight on padding"
