"""Adversaries of a model whose prediction depends on its attention weights, and of one whose prediction does not."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heedful.models.attention.none import NoAttention
from heedful.models.attention.query import QueryAttention
from heedful.models.classifier import Classifier
from heedful.models.component import Attention, Encoder
from heedful.models.encoder.identity import Identity
from heedful.models.pooling import Sum
from studies.faithfulness.adversary import LAMBDAS, adversary_results
from tests.faithfulness.models import POLARITY, TOTAL, PolaritySum, build_probe, marked_texts

NAMES = [f"adversary_{name}_{strength:g}" for strength in LAMBDAS for name in ("tvd", "jsd")]


class Trainable(QueryAttention):
    """The score of a token is the product of its absolute features and a vector; None stands for a random vector."""

    def __init__(self, input_dim: int, vector: list[float] | None = None) -> None:
        super().__init__(input_dim)
        self.vector = nn.Parameter(torch.randn(input_dim) if vector is None else torch.tensor(vector))

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys.abs() @ self.vector


@pytest.fixture(autouse=True)
def _raise_learning_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attention has only three parameters, and its adversaries need large values of them."""
    monkeypatch.setattr("studies.faithfulness.adversary.RATE", 0.3)


def means(encoder: Encoder, feature: int, vector: list[float]) -> dict[str, float]:
    """The mean of each result for a model with this attention."""

    def build() -> Classifier:
        return build_probe(encoder, Trainable(3), Sum(3), feature).model.requires_grad_(True)

    probe = build_probe(encoder, Trainable(3, vector), Sum(3), feature)
    arrays = adversary_results(probe, build, marked_texts(53), marked_texts(29, seed=5), epochs=30, seed=0)
    assert list(arrays) == NAMES
    assert all(values.shape == (29,) for values in arrays.values())
    return {name: float(values.mean()) for name, values in arrays.items()}


def test_an_attention_without_effect_has_different_adversaries_with_equal_predictions() -> None:
    result = means(PolaritySum(3), TOTAL, [6.0, 0.0, 0.0])
    assert [result[name] for name in NAMES[::2]] == pytest.approx([0] * len(LAMBDAS), abs=1e-6)
    assert 0.6 < result["adversary_jsd_0.1"] <= np.log(2) + 1e-6


def test_an_adversary_of_an_attention_that_determines_the_prediction_is_similar_or_changes_it() -> None:
    result = means(Identity(3), POLARITY, [6.0, 0.0, 0.0])
    assert result["adversary_tvd_0"] < 0.01
    for distance, divergence in zip(NAMES[::2], NAMES[1::2], strict=True):
        # without weight on the marked word, the probability is 0.5 instead of 0.98
        assert result[divergence] < 0.05 or result[distance] > 0.4


@pytest.mark.parametrize("attention", [NoAttention(3), Trainable(3, [0.0, 0.0, 0.0])])
def test_models_without_attention_or_with_uniform_weights_have_no_adversaries(attention: Attention) -> None:
    def fail() -> Classifier:
        raise AssertionError("an adversary is built")

    probe = build_probe(Identity(3), attention, Sum(3), POLARITY)
    arrays = adversary_results(probe, fail, marked_texts(7), marked_texts(5), epochs=1, seed=0)
    assert list(arrays) == NAMES
    assert np.isnan(list(arrays.values())).all()
