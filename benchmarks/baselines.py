"""The rivals of the speed benchmark: Heedful's models in plain PyTorch, each with a competent and with a padded loop.

The competent loop is what an experienced user of PyTorch writes: batches of similar length, padded to the longest text
of the batch, a mask, fused Adam, torch's fused attention, and on a GPU all texts in its memory, lengths that fused
kernels like, and no step that waits for the GPU. Its models compute the same logits as Heedful's. The padded loop is
that of the source documents: batches in random order, padded to a fixed length, without a mask. Both can run their
steps as CUDA graphs.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

PAD = 0
SORTED_TOGETHER = 50  # batches that the competent loop sorts by length before it cuts them
# On a GPU, padded lengths are multiples of this: few lengths recur, for graphs, and torch need not pad the mask of its
# fused attention.
MULTIPLE = 16


class Batch(NamedTuple):
    """The texts of a step.

    Args:
        is_full: whether no text has padding, so that no mask is needed.
    """

    tokens: Tensor  # N×L
    labels: Tensor  # N
    is_full: bool


class Reviews(NamedTuple):
    """Tokenized reviews, padded once, in the memory of the device that trains."""

    tokens: Tensor  # n×longest, rounded up
    labels: Tensor  # n
    lengths: Tensor  # n, on the CPU

    @classmethod
    def of(cls, texts: Sequence[Tensor], labels: Tensor, device: str) -> "Reviews":
        tokens = pad_sequence(list(texts), batch_first=True)
        tokens = F.pad(tokens, (0, -tokens.shape[1] % MULTIPLE))
        return cls(tokens.to(device), labels.to(device), torch.tensor([len(text) for text in texts]))


class RecurrentModel(nn.Module):
    """Embedding 100 → recurrent 128 → Luong's general attention with the last hidden states as query → one logit.

    In a bidirectional layer, the backward direction reads the real tokens of each text in reverse order. Token ids and
    scores are reversed, because they are much smaller than vectors and states.
    """

    def __init__(self, vocabulary: int, cell: type[nn.RNNBase] = nn.LSTM, bidirectional: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 100)
        self.encoders = nn.ModuleList(cell(100, 128, batch_first=True) for _ in range(1 + bidirectional))
        size = 128 * len(self.encoders)
        self.general = nn.Linear(size, size, bias=False)
        self.head = nn.Linear(size, 1)

    def forward(self, tokens: Tensor, is_full: bool = False) -> Tensor:
        mask = tokens != PAD  # N×L
        lengths, steps = mask.sum(1, keepdim=True), torch.arange(tokens.shape[1], device=tokens.device)
        reverse = torch.where(mask, lengths - 1 - steps, steps)  # N×L
        ids = tokens if len(self.encoders) == 1 else torch.cat([tokens, tokens.gather(1, reverse)])
        embedded = self.embedding(ids).split(len(tokens))  # N×L×D for each direction
        states = [encoder(part)[0] for encoder, part in zip(self.encoders, embedded, strict=True)]
        last = (lengths - 1).unsqueeze(2).expand(-1, -1, 128)  # N×1×128
        query = torch.cat([part.gather(1, last).squeeze(1) for part in states], 1) @ self.general.weight
        halves = [torch.einsum("nd,nld->nl", q, part) for q, part in zip(query.split(128, 1), states, strict=True)]
        scores = halves[0] if len(halves) == 1 else halves[0] + halves[1].gather(1, reverse)
        weights = torch.softmax(scores.masked_fill(~mask, -math.inf), 1)
        by_direction = [weights] if len(halves) == 1 else [weights, weights.gather(1, reverse)]
        contexts = [torch.einsum("nl,nld->nd", w, part) for w, part in zip(by_direction, states, strict=True)]
        return self.head(torch.cat(contexts, 1)).squeeze(1)


class PaddedRecurrentModel(nn.Module):
    """The model of the twenty-model report; without a mask, padding also gets weight."""

    def __init__(self, vocabulary: int, cell: type[nn.RNNBase] = nn.LSTM, bidirectional: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 100)
        self.encoder = cell(100, 128, batch_first=True, bidirectional=bidirectional)
        size = 128 * (1 + bidirectional)
        self.general = nn.Linear(size, size, bias=False)
        self.head = nn.Linear(size, 1)

    def forward(self, tokens: Tensor, is_full: bool = False) -> Tensor:
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

    def attend(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Return the attention outputs: N×L×D, N×L → N×L×D; without a mask, the fastest kernel can be used."""
        split = self.projections(states).unflatten(-1, (3, self.heads, -1))  # N×L×3×H×d
        queries, keys, values = split.permute(2, 0, 3, 1, 4)  # N×H×L×d each
        drop_rate = self.dropout.p if self.training else 0.0
        of_keys = None if mask is None else mask[:, None, None]
        context = F.scaled_dot_product_attention(queries, keys, values, of_keys, drop_rate)
        return self.output(context.transpose(1, 2).flatten(2))

    def forward(self, tokens: Tensor, is_full: bool = False) -> Tensor:
        mask = None if is_full else tokens != PAD  # N×L
        states = self.embedding(tokens)  # N×L×D
        states = self.dropout(self.post_norm(states + self.attend(self.pre_norm(states), mask)))
        if mask is not None:
            states = states.masked_fill(~mask.unsqueeze(2), -math.inf)
        return self.head(states.amax(1))


class PaddedSelfAttentionModel(SelfAttentionModel):
    """The model of the full self-attention report, which computes and stores the weights N×H×L×L, also of padding."""

    def attend(self, states: Tensor, mask: Tensor | None) -> Tensor:
        split = self.projections(states).unflatten(-1, (3, self.heads, -1))
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1]), -1)
        context = self.dropout(weights) @ values
        return self.output(context.transpose(1, 2).flatten(2))

    def forward(self, tokens: Tensor, is_full: bool = False) -> Tensor:
        states = self.embedding(tokens)
        states = self.post_norm(states + self.attend(self.pre_norm(states), None))
        return self.head(self.dropout(states).amax(1))


class Loop(NamedTuple):
    """A plain PyTorch loop."""

    name: str
    model: Callable[[int], nn.Module]  # builds the model for a vocabulary size
    length: int | None  # fixed padded length; None: the competent loop

    def batches(self, reviews: Reviews, sample: Tensor, batch_size: int) -> Iterator[Batch]:
        """Yield the batches of one epoch over the reviews in the rows `sample`."""
        device = reviews.tokens.device
        rows = sample[torch.randperm(len(sample))]
        if self.length is None:
            parts = rows.split(SORTED_TOGETHER * batch_size)
            rows = torch.cat([part[reviews.lengths[part].argsort()] for part in parts])
        groups = rows.split(batch_size)
        groups = tuple(groups[number] for number in torch.randperm(len(groups)).tolist())
        on_device = torch.cat(groups).to(device).split([len(group) for group in groups])  # copied once
        for group, own in zip(groups, on_device, strict=True):
            lengths = reviews.lengths[group]
            longest = int(lengths.max()) if self.length is None else self.length
            is_full = bool((lengths == longest).all())
            if self.length is None and device.type == "cuda" and not is_full:
                longest += -longest % MULTIPLE
            tokens = reviews.tokens[:, :longest].index_select(0, own)
            if longest > tokens.shape[1]:
                tokens = F.pad(tokens, (0, longest - tokens.shape[1]))
            yield Batch(tokens, reviews.labels.index_select(0, own), is_full)


class Training:
    """The training of a loop's model, one epoch after another; its graphs are captured once.

    Args:
        has_graphs: run each step as a CUDA graph: forward and backward pass and optimizer. A graph is captured for each
            shape that occurs a second time.
    """

    def __init__(
        self, loop: Loop, vocabulary: int, device: str = "cpu", bf16: bool = False, has_graphs: bool = False
    ) -> None:
        self.loop, self.device, self.bf16, self.has_graphs = loop, device, bf16, has_graphs
        self.model = loop.model(vocabulary).to(device).train()
        options: dict[str, Any] = {"capturable": True} if has_graphs else {}
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.001, fused=loop.length is None, **options)
        self.graphs: dict[Any, tuple[Batch, torch.cuda.CUDAGraph] | None] = {}
        self.stream = torch.cuda.Stream() if has_graphs else None

    def epoch(self, reviews: Reviews, sample: Tensor, batch_size: int) -> float:
        """Train on the reviews in the rows `sample`, and return the reviews per second."""
        step = self._step if self.stream is None else self._graphed_step
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream())
        start = time.perf_counter()
        with nullcontext() if self.stream is None else torch.cuda.stream(self.stream):
            for batch in self.loop.batches(reviews, sample, batch_size):
                step(batch)
        if self.device == "cuda":
            torch.cuda.synchronize()
        return len(sample) / (time.perf_counter() - start)

    def _step(self, batch: Batch) -> None:
        with torch.autocast(self.device, torch.bfloat16, enabled=self.bf16):
            logits = self.model(batch.tokens, batch.is_full)
        value = loss(logits.float(), batch.labels)
        self.optimizer.zero_grad()
        value.backward()
        self.optimizer.step()

    def _graphed_step(self, batch: Batch) -> None:
        key = (batch.tokens.shape, batch.is_full)
        if key not in self.graphs:
            self.graphs[key] = None
            self._step(batch)
            return
        if (captured := self.graphs[key]) is None:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self.stream):
                self._step(batch)
            captured = self.graphs[key] = batch, graph
        inputs, graph = captured
        inputs.tokens.copy_(batch.tokens)
        inputs.labels.copy_(batch.labels)
        graph.replay()


def loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy, of one logit per text or of one logit per class."""
    if logits.dim() == 1:
        return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
    return F.cross_entropy(logits, labels)
