"""The rivals of the speed benchmark: Heedful's models in plain PyTorch, each with a competent and with a padded loop.

The competent loop is what an experienced user of PyTorch writes: batches of similar length, padded to the longest text
of the batch, a mask, fused Adam, and torch's fused attention. Its models compute the same logits as Heedful's. The
padded loop is that of the source documents: batches in random order, padded to a fixed length, without a mask.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

PAD = 0
BATCH = 32
SORTED_TOGETHER = 50 * BATCH  # texts that the competent loop sorts by length before it cuts them into batches

Batch = tuple[Tensor, Tensor]  # token ids N×L and labels N


class RecurrentModel(nn.Module):
    """Embedding 100 → recurrent 128 → Luong's general attention with the last hidden states as query → one logit.

    In a bidirectional layer, the backward direction reads the real tokens of each text in reverse order.
    """

    def __init__(self, vocabulary: int, cell: type[nn.RNNBase] = nn.LSTM, bidirectional: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 100)
        self.encoders = nn.ModuleList(cell(100, 128, batch_first=True) for _ in range(1 + bidirectional))
        size = 128 * len(self.encoders)
        self.general = nn.Linear(size, size, bias=False)
        self.head = nn.Linear(size, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = tokens != PAD  # N×L
        embedded = self.embedding(tokens)  # N×L×D
        lengths, steps = mask.sum(1, keepdim=True), torch.arange(tokens.shape[1], device=tokens.device)
        rows = torch.arange(len(tokens), device=tokens.device)
        reverse = torch.where(mask, lengths - 1 - steps, steps)  # N×L
        states, query = [], []
        for number, encoder in enumerate(self.encoders):
            is_backward = number == 1
            output, _ = encoder(embedded[rows[:, None], reverse] if is_backward else embedded)
            query.append(output[rows, lengths[:, 0] - 1])
            states.append(output[rows[:, None], reverse] if is_backward else output)
        keys = torch.cat(states, -1)
        scores = torch.einsum("nd,nld->nl", torch.cat(query, -1) @ self.general.weight, keys)
        weights = torch.softmax(scores.masked_fill(~mask, -math.inf), 1)
        return self.head(torch.einsum("nl,nld->nd", weights, keys)).squeeze(1)


class PaddedRecurrentModel(nn.Module):
    """The model of the twenty-model report; without a mask, padding also gets weight."""

    def __init__(self, vocabulary: int, cell: type[nn.RNNBase] = nn.LSTM, bidirectional: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 100)
        self.encoder = cell(100, 128, batch_first=True, bidirectional=bidirectional)
        size = 128 * (1 + bidirectional)
        self.general = nn.Linear(size, size, bias=False)
        self.head = nn.Linear(size, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        states, last = self.encoder(self.embedding(tokens))  # N×L×D
        hidden = last[0] if isinstance(last, tuple) else last  # directions×N×128
        scores = torch.bmm(self.general(states), torch.cat(list(hidden), 1).unsqueeze(2))  # N×L×1
        return self.head((torch.softmax(scores, 1) * states).sum(1)).squeeze(1)


class SelfAttentionModel(nn.Module):
    """Norm, multi-head self-attention, residual, norm, dropout, maximum, two logits; torch's fused attention."""

    def __init__(self, vocabulary: int, size: int = 128, heads: int = 8, dropout: float = 0.1) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(vocabulary, size)
        self.pre_norm, self.post_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.projections = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(size, 2)

    def attend(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the attention outputs: N×L×D, N×L → N×L×D."""
        split = self.projections(states).unflatten(-1, (3, self.heads, -1))  # N×L×3×H×d
        queries, keys, values = split.permute(2, 0, 3, 1, 4)  # N×H×L×d each
        drop_rate = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(queries, keys, values, mask[:, None, None], drop_rate)
        return self.output(context.transpose(1, 2).flatten(2))

    def forward(self, tokens: Tensor) -> Tensor:
        mask = tokens != PAD  # N×L
        states = self.embedding(tokens)  # N×L×D
        states = self.dropout(self.post_norm(states + self.attend(self.pre_norm(states), mask)))
        return self.head(states.masked_fill(~mask.unsqueeze(2), -math.inf).amax(1))


class PaddedSelfAttentionModel(SelfAttentionModel):
    """The model of the full self-attention report, which computes and stores the weights N×H×L×L, also of padding."""

    def attend(self, states: Tensor, mask: Tensor) -> Tensor:
        split = self.projections(states).unflatten(-1, (3, self.heads, -1))
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1]), -1)
        context = self.dropout(weights) @ values
        return self.output(context.transpose(1, 2).flatten(2))

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.embedding(tokens)
        states = self.post_norm(states + self.attend(self.pre_norm(states), tokens != PAD))
        return self.head(self.dropout(states).amax(1))


class Loop(NamedTuple):
    """A plain PyTorch loop."""

    name: str
    model: Callable[[int], nn.Module]  # builds the model for a vocabulary size
    length: int | None  # fixed padded length; None: the competent loop

    def batches(self, texts: Sequence[Tensor], labels: Tensor) -> Iterator[Batch]:
        """Yield the batches of one epoch."""
        rows = torch.randperm(len(texts))
        if self.length is None:
            lengths = torch.tensor([len(text) for text in texts])
            rows = torch.cat([part[lengths[part].argsort()] for part in rows.split(SORTED_TOGETHER)])
        batches = rows.split(BATCH)
        for number in torch.randperm(len(batches)).tolist():
            tokens = pad_sequence([texts[row] for row in batches[number].tolist()], batch_first=True)
            if self.length is not None:
                tokens = F.pad(tokens, (0, self.length - tokens.shape[1]))
            yield tokens, labels[batches[number]]

    def train(self, model: nn.Module, batches: Iterable[Batch], device: str = "cpu", bf16: bool = False) -> float:
        """Train one epoch with Adam, and return the texts per second."""
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001, fused=self.length is None)
        model.train()
        texts, start = 0, time.perf_counter()
        for tokens, labels in batches:
            with torch.autocast(device, torch.bfloat16, enabled=bf16):
                logits = model(tokens.to(device))
            value = loss(logits, labels.to(device))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            texts += len(labels)
        if device == "cuda":
            torch.cuda.synchronize()
        return texts / (time.perf_counter() - start)


def loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy, of one logit per text or of one logit per class."""
    if logits.dim() == 1:
        return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
    return F.cross_entropy(logits, labels)
