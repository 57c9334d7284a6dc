"""The baselines of the benchmarks: models and a training loop in plain PyTorch."""

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, TensorDataset

PAD, UNKNOWN = 0, 1
BATCH = 32


class LuongGeneral(nn.Module):
    """Luong's general attention, as in the twenty-model report; without a mask, padding also gets weight."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(size, size, bias=False)

    def forward(self, states: Tensor, query: Tensor, mask: Tensor | None = None) -> Tensor:
        scores = torch.bmm(self.project(states), query.unsqueeze(2))  # N×L×1
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(2), -torch.inf)
        return (torch.softmax(scores, 1) * states).sum(1)


class ReportModel(nn.Module):
    """Embedding 100 → recurrent 128 → Luong's general attention with the last hidden state as query → one logit."""

    def __init__(self, vocabulary: int, cell: Callable[..., nn.RNNBase] = nn.LSTM, bidirectional: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 100)
        self.encoder = cell(100, 128, batch_first=True, bidirectional=bidirectional)
        size = 128 * (2 if bidirectional else 1)
        self.attention = LuongGeneral(size)
        self.head = nn.Linear(size, 1)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        states, last = self.encoder(self.embedding(tokens))  # N×L×D
        return self.head(self.attention(states, _join_directions(last))).squeeze(1)


class PackedReportModel(ReportModel):
    """A ReportModel with packed sequences: neither the recurrent layer nor the attention processes padding."""

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)  # N×L×D, L of the longest text
        mask = tokens[:, : states.shape[1]] != PAD
        return self.head(self.attention(states, _join_directions(last), mask)).squeeze(1)


def _join_directions(last: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    """Concatenate the last hidden states of all directions: N×D."""
    hidden = last[0] if isinstance(last, tuple) else last  # directions×N×128
    return torch.cat(list(hidden), 1)


class SoftmaxSelfAttention(nn.Module):
    """Multi-head self-attention computed by its formula, which stores the weights N×H×L×L."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(size, size) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        texts, length, size = states.shape
        query, key, value = (
            project(states).view(texts, length, self.heads, size // self.heads).transpose(1, 2)
            for project in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(size // self.heads)  # N×H×L×L
        context = self.dropout(torch.softmax(scores, -1)) @ value
        return self.output(context.transpose(1, 2).reshape(texts, length, size))


class FullAttentionModel(nn.Module):
    """The model of the full self-attention report: norm, attention, residual, norm, dropout, maximum, two logits."""

    def __init__(self, vocabulary: int, size: int = 128, heads: int = 8, dropout: float = 0.1) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, size)
        self.pre_norm, self.post_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = SoftmaxSelfAttention(size, heads, dropout)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(size, 2)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        states = self.embedding(tokens)  # N×L×D
        states = self.post_norm(states + self.attention(self.pre_norm(states)))
        return self.head(self.dropout(states).amax(1))


class Plain(NamedTuple):
    """A baseline: model, loss and padded length."""

    model: Callable[[int], nn.Module]  # builds a model for a vocabulary size
    loss: nn.Module
    length: int  # padded length of every text


def words(text: str) -> list[str]:
    """Split a text into words and punctuation marks in lower case."""
    return re.findall(r"\w+|[^\w\s]", text.lower().replace("<br />", " "))


def padded(texts: Sequence[str], labels: Tensor, length: int, size: int = 30_000) -> tuple[TensorDataset, int]:
    """Return a dataset and the size of the vocabulary.

    The dataset has word ids N×length (cut and padded at the end), lengths N and labels N.
    """
    split = [words(text) for text in texts]
    vocabulary = [word for word, _ in Counter(word for text in split for word in text).most_common(size - 2)]
    ids = {word: i for i, word in enumerate(vocabulary, start=2)}
    rows = torch.full((len(texts), length), PAD)
    for row, text in zip(rows, split, strict=True):
        word_ids = [ids.get(word, UNKNOWN) for word in text[:length]]
        row[: len(word_ids)] = torch.tensor(word_ids)
    lengths = torch.tensor([min(len(text), length) for text in split]).clamp(min=1)
    return TensorDataset(rows, lengths, labels), size


def train(model: nn.Module, loss: nn.Module, reviews: TensorDataset, device: str = "cpu", bf16: bool = False) -> float:
    """Train one epoch with Adam in batches of BATCH reviews, and return the reviews per second."""
    cuda = device == "cuda"
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    loader = DataLoader(reviews, BATCH, shuffle=True, pin_memory=cuda)
    model.train()
    start = time.perf_counter()
    for tokens, lengths, labels in loader:
        tokens, labels = tokens.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        with torch.autocast(device, torch.bfloat16, enabled=bf16):
            logits = model(tokens, lengths)
        value = loss(logits.float(), labels.float() if logits.dim() == 1 else labels)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    if cuda:
        torch.cuda.synchronize()
    return len(reviews) / (time.perf_counter() - start)
