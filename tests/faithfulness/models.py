"""Classifiers with known results: the class is the polarity of one marked word among neutral words."""

import numpy as np
import torch
from torch import Tensor, nn

from heedful.data.padded_batches import Truncation
from heedful.models.attention.none import NoAttention
from heedful.models.attention.query import QueryAttention
from heedful.models.classifier import Classifier
from heedful.models.component import Attention, Encoded, Encoder, Head, Pooling, masked_mean, zero_padding
from heedful.models.embedding.learned import LearnedEmbedding
from heedful.models.encoder.identity import Identity
from heedful.models.pooling import Sum
from heedful.models.position import NoPosition
from heedful.models.probe import Probe
from heedful.tasks.multiclass import Multiclass

NEUTRAL, GOOD, BAD, LURE = 2, 21, 22, 23  # ids of tokens; 2 to 20 are neutral
POLARITY, IS_LURE, TOTAL = range(3)  # features
CONFIDENCE = 1 / (1 + np.exp(-4.0))  # probability of the class of a text with one marked word


class PolaritySum(Encoder):
    """Writes the sum of the polarities of the text into a feature of every state, as a recurrent encoder can."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        total = states[..., POLARITY].sum(1, keepdim=True).unsqueeze(2)  # N×1×1
        output = zero_padding(torch.cat([states[..., :TOTAL], total.expand(-1, states.shape[1], 1)], 2), mask)
        return Encoded(output, mask, masked_mean(output, mask))


class Overflowing(Identity):
    """Returns its input; the gradient overflows to inf, as that of a recurrent encoder may."""

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        if states.requires_grad:
            states.register_hook(lambda gradient: gradient * 1e38 * 1e38)
        return super().forward(states, mask)


class FeatureAttention(QueryAttention):
    """The score of a token is the absolute value of a feature."""

    def __init__(self, input_dim: int, feature: int) -> None:
        super().__init__(input_dim)
        self.feature = feature

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return 50 * keys[..., self.feature].abs()


class FeatureHead(Head):
    """Logits (−2 s, 2 s) of a feature s."""

    def __init__(self, feature: int) -> None:
        super().__init__()
        self.feature = feature

    def forward(self, features: Tensor) -> Tensor:
        signal = 2 * features[:, self.feature : self.feature + 1]
        return torch.cat([-signal, signal], 1)


def build_probe(encoder: Encoder, attention: Attention, pooling: Pooling, feature: int) -> Probe:
    embedding = LearnedEmbedding([str(i) for i in range(24)], dim=3)
    table = torch.zeros(24, 3)
    table[GOOD, POLARITY], table[BAD, POLARITY], table[LURE, IS_LURE] = 1, -1, 1
    embedding.table.weight = nn.Parameter(table)
    model = Classifier(embedding, NoPosition(3), encoder, attention, pooling, FeatureHead(feature))
    return Probe(model, Multiclass(), Truncation(500, "first"))


def additive() -> Probe:
    """p(good) = σ(4 Σ polarity), without attention."""
    return build_probe(Identity(3), NoAttention(3), Sum(3), POLARITY)


def overflowing() -> Probe:
    """p(good) = σ(4 Σ polarity), with gradients that overflow."""
    return build_probe(Overflowing(3), NoAttention(3), Sum(3), POLARITY)


def faithful() -> Probe:
    """The attention selects the marked word, and the prediction depends on its polarity."""
    return build_probe(Identity(3), FeatureAttention(3, POLARITY), Sum(3), POLARITY)


def misleading() -> Probe:
    """The same predictions as those of `additive`, but all the attention is on the lure."""
    return build_probe(PolaritySum(3), FeatureAttention(3, IS_LURE), Sum(3), TOTAL)


def marked_texts(count: int, seed: int = 3) -> list[np.ndarray]:
    """Texts of neutral words, one marked word and one lure, at random positions."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        text = rng.integers(NEUTRAL, GOOD, 20)
        marked, lure = rng.choice(20, 2, replace=False)
        text[marked], text[lure] = rng.choice([GOOD, BAD]), LURE
        texts.append(text)
    return texts
