"""Lin-TaSc: the weights of a query attention are multiplied by a factor of each word."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from heedful.data.padded_batches import Inputs, Truncation
from heedful.models.classifier import Classifier
from heedful.models.component import Encoded
from heedful.models.probe import Probe
from heedful.portable.onnx_model import TOLERANCE, PortableModel, convert
from heedful.tasks.multiclass import Multiclass
from tests.models.combinations import (
    ATTENTIONS,
    ENCODERS,
    LENGTHS,
    VOCABULARY,
    compose,
    small_options,
    texts,
)

SCALED = [name for name in ATTENTIONS if "task_scaling" in small_options("attention", name)]


def build(encoder: str = "identity", attention: str = "bahdanau") -> Classifier:
    torch.manual_seed(0)
    return compose(encoder=encoder, attention=attention, task_scaling="lin").double().eval()


@pytest.mark.parametrize("attention", SCALED)
@torch.no_grad()
def test_the_context_follows_the_formula(attention: str) -> None:
    """c = Σ_i α_i s_i h_i with s_i = u_i Σ_d x_id, where the shown weights are α."""
    model = build("gru", attention)
    scales = model.attention.word_scales.weight
    assert scales.shape == (len(VOCABULARY), 1) and 0 < float(scales.abs().max()) <= len(VOCABULARY) ** -0.5
    inputs = texts()
    encoded = model.encode(inputs)
    embeddings, weights = model.embedding(inputs), model.weights(inputs)
    context = model.attention(encoded).summary
    for n, length in enumerate(LENGTHS):
        expected = torch.zeros_like(context[n])
        for i in range(length):
            factor = float(scales[inputs.ids[n, i], 0]) * sum(embeddings[n, i].tolist())
            expected += float(weights[n, 0, 0, i]) * factor * encoded.states[n, i]
        torch.testing.assert_close(context[n], expected)
        assert float(weights[n].sum()) == pytest.approx(1)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_padding_changes_nothing_and_gradients_reach_the_factors(encoder: str) -> None:
    model = build(encoder)
    inputs = texts()
    logits = model(inputs)
    torch.testing.assert_close(model(texts((*LENGTHS, 13), padded_length=17))[: len(LENGTHS)], logits)
    torch.testing.assert_close(
        model.classify(model.encode(inputs), weights=model.weights(inputs)), logits, rtol=0, atol=1e-12
    )
    logits.square().sum().backward()
    gradient = model.attention.word_scales.weight.grad
    used = torch.zeros(len(VOCABULARY), dtype=torch.bool).index_fill(0, inputs.ids[inputs.mask].unique(), True)
    assert torch.equal(gradient[:, 0] != 0, used)


def test_a_dropped_token_changes_nothing() -> None:
    model = build()
    dropped = 5

    def known(inputs: Inputs) -> Tensor:
        return inputs.mask & (inputs.ids != dropped)

    model.embedding.known = known  # type: ignore[method-assign]
    short, long = torch.tensor([[7, 3, 11]]), torch.tensor([[dropped, 7, 3, dropped, 11]])
    torch.testing.assert_close(model(Inputs(long, long > 0)), model(Inputs(short, short > 0)))


def test_stored_states_get_the_factors_of_their_tokens() -> None:
    model = build("gru")
    inputs = texts()
    expected = model(inputs)
    stored: Encoded = model.encode(inputs)._replace(traits=None)
    model.stored_states = lambda inputs: stored
    torch.testing.assert_close(model(inputs), expected)


def test_explanations_from_embeddings_use_the_factors() -> None:
    """Gradient × input equals central differences of the probability of a model with replaced embeddings."""
    probe = Probe(build("gru"), Multiclass(), Truncation(40, "first"))
    text, classes = np.array([7, 3, 11, 3]), np.array([1])
    (scores,) = probe.gradient_times_input([text], classes)
    inputs = probe.batch([text])
    embeddings = probe.model.embedding(inputs)

    def probability(factors: Tensor) -> float:
        return float(probe.class_probability(embeddings * factors[:, None], inputs, torch.tensor(classes)).detach())

    step, ones = 1e-2, torch.ones(inputs.ids.shape[1], dtype=torch.float64)
    for i, score in enumerate(scores):
        moved = step * torch.nn.functional.one_hot(torch.tensor(i), len(ones))
        assert score == pytest.approx((probability(ones + moved) - probability(ones - moved)) / (2 * step), abs=2e-5)
    assert probability(ones) == pytest.approx(float(probe.probabilities([text])[0, 1]))


@pytest.mark.parametrize(
    "encoder", ["gru", *(pytest.param(name, marks=pytest.mark.weekly) for name in ("cnn", "transformer"))]
)
def test_it_is_exported(encoder: str, tmp_path: Path) -> None:
    portable = PortableModel(build(encoder).float(), Multiclass(), len(VOCABULARY), max_length=40)
    assert convert(portable.eval(), tmp_path / "model.onnx") <= TOLERANCE
