"""Adversaries of a model whose prediction depends on its attention weights, and of one whose prediction does not."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from src.faithfulness.adversary import adversary_results
from src.faithfulness.names import LAMBDAS
from src.faithfulness.probe import Training
from src.models.attention.none import NoAttention
from src.models.attention.query import QueryAttention
from src.models.classifier import Classifier
from src.models.component import Attention, Encoder
from src.models.encoder.identity import Identity
from src.models.pooling.sum import Sum
from tests.faithfulness.models import POLARITY, TOTAL, Smear, marked_texts, probe_of

NAMES = [f"adversary_{name}_{strength:g}" for strength in LAMBDAS for name in ("tvd", "jsd")]


class Trainable(QueryAttention):
    """Scores the absolute features of a state by a vector; a vector of None is a random one."""

    def __init__(self, input_dim: int, vector: list[float] | None = None) -> None:
        super().__init__(input_dim)
        self.vector = nn.Parameter(torch.randn(input_dim) if vector is None else torch.tensor(vector))

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys.abs() @ self.vector


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attention has three parameters, of which large values are needed."""
    monkeypatch.setattr("src.faithfulness.adversary.RATE", 0.3)


def means(encoder: Encoder, feature: int, vector: list[float]) -> tuple[dict[str, float], int]:
    """The mean of each result for a model with this attention, and the number of texts that train adversaries."""
    trained: list[int] = []

    def build() -> Classifier:
        return probe_of(encoder, Trainable(3), Sum(3), feature).model.requires_grad_(True)

    probe = probe_of(encoder, Trainable(3, vector), Sum(3), feature)
    training = Training(30, 0, trained.append)
    arrays = adversary_results(probe, build, marked_texts(101), marked_texts(53, seed=5), training)
    assert list(arrays) == NAMES
    assert all(values.shape == (53,) for values in arrays.values())
    return {name: float(values.mean()) for name, values in arrays.items()}, sum(trained)


def test_an_attention_without_effect_has_free_adversaries() -> None:
    result, trained = means(Smear(3), TOTAL, [6.0, 0.0, 0.0])
    assert [result[name] for name in NAMES[::2]] == pytest.approx([0] * len(LAMBDAS), abs=1e-6)
    assert 0.6 < result["adversary_jsd_0.1"] <= np.log(2) + 1e-6
    assert trained == len(LAMBDAS) * 30 * 101


def test_an_attention_that_determines_the_prediction_has_costly_adversaries() -> None:
    result, _ = means(Identity(3), POLARITY, [6.0, 0.0, 0.0])
    assert result["adversary_tvd_0"] < 0.01
    for distance, divergence in zip(NAMES[::2], NAMES[1::2], strict=True):
        # without weight on the marked word p is 0.5, and the model has 0.98
        assert result[divergence] < 0.05 or result[distance] > 0.4


@pytest.mark.parametrize("attention", [NoAttention(3), Trainable(3, [0.0, 0.0, 0.0])])
def test_not_applicable_to_many_rows_and_to_uniform_weights(attention: Attention) -> None:
    def refuse() -> Classifier:
        raise AssertionError("an adversary is built")

    probe = probe_of(Identity(3), attention, Sum(3), POLARITY)
    training = Training(1, 0, lambda number: None)
    arrays = adversary_results(probe, refuse, marked_texts(7), marked_texts(5), training)
    assert list(arrays) == NAMES
    assert np.isnan(list(arrays.values())).all()
