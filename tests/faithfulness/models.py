"""Classifiers with a known answer: the class is the polarity of one marked word among neutral words."""

import numpy as np
import torch
from torch import Tensor, nn

from src.data.padded_batches import Truncation
from src.faithfulness.probe import Probe
from src.models.attention.none import NoAttention
from src.models.attention.query import QueryAttention
from src.models.classifier import Classifier
from src.models.component import Attention, Encoder, Head
from src.models.embedding.learned import LearnedEmbedding
from src.models.encoder.identity import Identity
from src.models.loss import CrossEntropy
from src.models.masking import masked_mean, zero_padding
from src.models.pooling.base import Pooling
from src.models.pooling.sum import Sum
from src.models.position.none import NoPosition
from src.models.types import Encoded

NEUTRAL, GOOD, BAD, LURE = 2, 21, 22, 23  # ids of tokens; 2 to 20 are neutral
POLARITY, LURED, TOTAL = range(3)  # features
SURE = 1 / (1 + np.exp(-4.0))  # p of the class of one marked word


class Smear(Encoder):
    """Adds the polarity of the whole text to a feature of every state, as a recurrent encoder can."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        total = states[..., POLARITY].sum(1, keepdim=True).unsqueeze(2)  # N×1×1
        smeared = zero_padding(torch.cat([states[..., :TOTAL], total.expand(-1, states.shape[1], 1)], 2), mask)
        return Encoded(smeared, mask, masked_mean(smeared, mask))


class Overflowing(Identity):
    """Passes states on; gradients overflow, as those of a recurrent encoder may: inf, or NaN where they are zero."""

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        if states.requires_grad:
            states.register_hook(lambda gradient: gradient * 1e38 * 1e38)
        return super().forward(states, mask)


class Attend(QueryAttention):
    """Attends to the tokens with a large value of a feature."""

    def __init__(self, input_dim: int, feature: int) -> None:
        super().__init__(input_dim)
        self.feature = feature

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return 50 * keys[..., self.feature].abs()


class Read(Head):
    """Logits (−2 s, 2 s) of a feature s."""

    def __init__(self, feature: int) -> None:
        super().__init__()
        self.feature = feature

    def forward(self, features: Tensor) -> Tensor:
        signal = 2 * features[:, self.feature : self.feature + 1]
        return torch.cat([-signal, signal], 1)


def probe_of(encoder: Encoder, attention: Attention, pooling: Pooling, feature: int) -> Probe:
    embedding = LearnedEmbedding([str(i) for i in range(24)], dim=3)
    table = torch.zeros(24, 3)
    table[GOOD, POLARITY], table[BAD, POLARITY], table[LURE, LURED] = 1, -1, 1
    embedding.table.weight = nn.Parameter(table)
    model = Classifier(embedding, NoPosition(3), encoder, attention, pooling, Read(feature))
    return Probe(model, CrossEntropy([1, 1]), Truncation(500, "first"))


def additive() -> Probe:
    """p(good) = σ(4 Σ polarity), without attention."""
    return probe_of(Identity(3), NoAttention(3), Sum(3), POLARITY)


def overflowing() -> Probe:
    """p(good) = σ(4 Σ polarity), with gradients that overflow."""
    return probe_of(Overflowing(3), NoAttention(3), Sum(3), POLARITY)


def honest() -> Probe:
    """Attends to the marked word and reads its polarity."""
    return probe_of(Identity(3), Attend(3, POLARITY), Sum(3), POLARITY)


def misleading() -> Probe:
    """The same predictions as those of `additive`, but the attention is forced to look at the lure."""
    return probe_of(Smear(3), Attend(3, LURED), Sum(3), TOTAL)


def marked_texts(count: int, length: int = 20, seed: int = 3) -> list[np.ndarray]:
    """Texts of neutral words, one marked word and one lure, at random positions."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        text = rng.integers(NEUTRAL, GOOD, length)
        marked, lure = rng.choice(length, 2, replace=False)
        text[marked], text[lure] = rng.choice([GOOD, BAD]), LURE
        texts.append(text)
    return texts
