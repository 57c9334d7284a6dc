"""Truncate the tokens of texts, build padded batches of them, and iterate over the batches of a plan.

A plan is the order of rows in a pass over a split: a list of row arrays, one per batch. Each process (rank) has its own
plan of ceil(n / (batch_size * world_size)) batches; the sizes of any two batches differ by at most one row. No row is
dropped, and no row is repeated unless the ranks together have more batches than rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from heedful.base.errors import UserError
from heedful.kernels.device import to_device
from heedful.runtime import spans

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

PAD_ID = 0  # the id of padding in every vocabulary
# Significant bits of a padded length; with 4 bits, a batch's longest text is padded by less than 1/8 of its length.
SIGNIFICANT_BITS = 4
BATCHES_PER_BUCKET = 50  # batches per process whose rows are sorted together; more would make the order less random

Plan = list[np.ndarray]


class Inputs(NamedTuple):
    """What a model reads of N texts, padded to the same length; a component ignores what it does not need."""

    ids: Tensor  # N×L int64, padding is 0
    mask: Tensor  # N×L bool, True at tokens and False at padding
    segments: Tensor | None = None  # N×L int64, the part of the text to which each token belongs
    columns: Tensor | None = None  # N×K float32, further features of each text

    def of_text(self, row: int, length: int) -> "Inputs":
        """Return the inputs of one text, cut to the first `length` tokens."""
        ids, mask, segments, columns = (None if part is None else part[row : row + 1] for part in self)
        assert ids is not None and mask is not None
        segments = None if segments is None else segments[:, :length]
        return Inputs(ids[:, :length], mask[:, :length], segments, columns)


class Batch(NamedTuple):
    """The texts of one training or evaluation step."""

    inputs: Inputs
    targets: Tensor  # N or N×…, as the task encodes labels
    index: Tensor  # type: ignore[assignment]  # N int64, position of each text in its split


@dataclass(frozen=True)
class Truncation:
    """A limit on the number of tokens: of a longer text, the "first" or "last" `max_length` (≥ 1) tokens remain."""

    max_length: int
    keep: Literal["first", "last"]

    def describe_cut(self, tokens: int, of_pair: bool = False) -> str:
        """Return a description such as 'first 500 of 20,000 tokens'; an empty string if no token is removed."""
        if tokens <= self.max_length:
            return ""
        kept = f"{self.max_length:,} of {tokens:,} tokens"
        return f"{kept}, the {self.keep} of each text" if of_pair else f"{self.keep} {kept}"

    def padded_length(self, longest: int) -> int:
        """Return the padded length of a batch whose longest text has `longest` tokens.

        Only a few padded lengths are possible, 64 for texts of up to 1,000 tokens, so that kernels are compiled for few
        shapes, and a batch can often reuse the memory of an earlier batch.
        """
        step = 1 << max(0, longest.bit_length() - SIGNIFICANT_BITS)
        return min(-(-longest // step) * step, self.max_length)


class Tokens(NamedTuple):
    """The tokens of n texts, one text after another, untruncated."""

    ids: np.ndarray  # flat int32
    offsets: np.ndarray  # n+1 int64; text i is `ids[offsets[i]:offsets[i + 1]]`
    bounds: np.ndarray | None = None  # n×2 int64, the ends of a pair's first text and of the separator; None: no pairs


class BatchBuilder:
    """Builds padded batches from the flat tokens of one split, without a Python loop over texts.

    Args:
        tokens, offsets, bounds: as in `Tokens`.
        targets: n or n×…
        columns: n×K, further features of each text; None if there are none.
        weights: n numbers above 0, by which the texts count in training; None if all count alike.
    """

    def __init__(
        self,
        tokens: np.ndarray,
        offsets: np.ndarray,
        targets: np.ndarray,
        truncation: Truncation,
        device: torch.device | str = "cpu",
        bounds: np.ndarray | None = None,
        columns: "csr_matrix | None" = None,
        weights: np.ndarray | None = None,
    ) -> None:
        self.truncation = truncation
        self.columns = columns  # on the host, because most of them are 0
        self.weights = weights
        self.offsets = offsets  # on the host, so that the size of a batch is known without waiting for the device
        self.spans = spans(offsets, bounds, truncation.max_length, truncation.keep)
        self.lengths = self.spans.lengths.astype(np.int32)  # after truncation
        nonempty = tokens if len(tokens) else np.array([PAD_ID], dtype=np.int32)  # because padding reads tokens[0]
        self.tokens = torch.from_numpy(nonempty).to(device)
        self.targets = torch.from_numpy(targets).to(device)

    def __len__(self) -> int:
        return len(self.lengths)

    def __call__(self, rows: np.ndarray) -> Batch:
        """Return the batch of these rows (N int64); its padded length L (≥ 1) depends on the longest text."""
        device = self.tokens.device
        padded_length = self.truncation.padded_length(int(self.lengths[rows].max(initial=1)))
        spans = [part[rows] for part in self.spans if part is not None]
        index, starts, lengths, *pair = to_device(np.stack([rows, *spans]), device)
        steps = torch.arange(padded_length, device=device)  # L
        mask = steps < lengths.unsqueeze(1)  # N×L
        positions, segments = starts.unsqueeze(1) + steps, None  # N×L
        if pair:
            seconds, jumps, skipped = (values.unsqueeze(1) for values in pair)  # N×1
            positions = positions + skipped * (steps >= jumps)
            segments = ((steps >= seconds) & mask).long()
        ids = self.tokens[positions * mask].long()  # padding reads tokens[0], which is overwritten
        columns = None if self.columns is None else to_device(self.columns[rows].toarray(), device)
        inputs = Inputs(ids.masked_fill_(~mask, PAD_ID), mask, segments, columns)
        return Batch(inputs, self.targets[index], index)


@dataclass(frozen=True)
class Batches:
    """The batches of a fixed plan, for evaluation and for `overfit_batches`."""

    builder: BatchBuilder
    plan: Plan

    def __len__(self) -> int:
        return len(self.plan)

    def __iter__(self) -> Iterator[Batch]:
        return map(self.builder, self.plan)


class ShuffledBatches:
    """Training batches with a new plan in every epoch; a pass continues at `position`, so it resumes after any batch.

    A Trainer stores `state_dict()` in its checkpoints, but it does not load the state from a checkpoint that was saved
    at the end of an epoch; therefore, it must also set the epoch through `sampler`.

    Args:
        order: function from epoch to plan; all plans have the same length.
    """

    def __init__(self, builder: BatchBuilder, order: Callable[[int], Plan]) -> None:
        self.builder = builder
        self.order = order
        self.epoch = 0
        self.position = 0  # number of batches of the epoch that were already yielded
        self.sampler = self  # the object on which Lightning calls `set_epoch`
        self.batch_sampler = None  # Lightning reads it where there is a sampler
        self._length = len(order(0))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Batch]:
        if self.position >= len(self):
            self.set_epoch(self.epoch + 1)
        for rows in self.order(self.epoch)[self.position :]:
            self.position += 1  # before the yield: a run resumed from a state saved in this step gets the next batch
            yield self.builder(rows)

    def longest(self) -> Batch:
        """Return a batch of the longest texts, which is at least as large as every other one."""
        return self.builder(np.argsort(-self.builder.lengths, kind="stable")[: -(-len(self.builder) // len(self))])

    def set_epoch(self, epoch: int) -> None:
        """Move to the start of `epoch`, unless it is the current epoch."""
        if epoch != self.epoch:
            self.epoch, self.position = epoch, 0

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "position": self.position, "batches": len(self)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position of `state`, which within an epoch must be of the same number of batches."""
        is_finished = state["position"] >= state["batches"]
        if 0 < state["position"] < state["batches"] != len(self):
            raise UserError(
                f"the checkpoint was written within an epoch of {state['batches']} batches, but an epoch of this run "
                f"has {len(self)} batches: resume with the same number of devices"
            )
        self.epoch, self.position = state["epoch"], len(self) if is_finished else state["position"]


def by_length(lengths: np.ndarray, batch_size: int, rank: int, world_size: int, limit: float = 1.0) -> Plan:
    """Return the fixed plan for evaluation, longest texts first: if memory is too small, the first batch fails.

    Args:
        limit: how many batches are read, as Lightning defines it; if these are not all, texts of all lengths are first.
    """
    rows = np.argsort(-lengths, kind="stable")
    bounds = _bounds(len(rows), batch_size, world_size)
    count = bounds[limited((len(bounds) - 1) // world_size, limit) * world_size]  # of the texts that are read
    if 0 < count < len(rows):
        sample = np.arange(count) * len(rows) // count
        rows = np.concatenate([rows[sample], np.delete(rows, sample)])
    return _divide(rows, bounds)[rank::world_size]


def limited(batches: int, limit: float) -> int:
    """Return how many batches are read if `limit` is their largest number (an int) or their share (a float)."""
    return min(batches, limit) if isinstance(limit, int) else int(batches * limit)


def shuffled(
    lengths: np.ndarray,
    batch_size: int,
    seed: int,
    buckets: bool,
    rank: int,
    world_size: int,
    epoch: int,
    weights: np.ndarray | None = None,
) -> Plan:
    """Return the plan for one training epoch; the same arguments always give the same plan.

    Args:
        lengths: n integers, the number of tokens of each text.
        buckets: build batches of texts of similar length, also across the processes of a step. The rows are shuffled,
            then sorted by length within chunks of 50 steps, or of an eighth of all steps if that is fewer, so that the
            order stays random. Then the steps are shuffled.
        weights: n numbers above 0: instead of each row once, the plan has row i n w_i / Σw times on average, rounded up
            or down at random, and n rows in all. Equal weights change nothing.
    """
    rng = np.random.default_rng([seed, epoch])
    rows = rng.permutation(len(lengths))
    if weights is not None:
        rows = np.repeat(np.arange(len(rows)), _draw(weights, np.random.default_rng([seed, epoch, 1])))[rows]
    bounds = _bounds(len(rows), batch_size, world_size)
    steps = (len(bounds) - 1) // world_size
    if buckets:
        chunk = min(BATCHES_PER_BUCKET, max(1, steps // 8)) * world_size
        for start, stop in pairwise([*bounds[:-1:chunk], bounds[-1]]):
            chunk_rows = rows[start:stop]
            rows[start:stop] = chunk_rows[np.argsort(lengths[chunk_rows], kind="stable")]
    batches = _divide(rows, bounds)
    return [batches[step * world_size + rank] for step in rng.permutation(steps)]


def _draw(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return how often each of n rows is drawn: a systematic sample of n points, of the rows in a random order."""
    n, order = len(weights), rng.permutation(len(weights))
    ends = np.cumsum(weights[order] / weights.max(initial=0.0))
    ends = np.append(0.0, ends * (n / ends[-1])) - rng.random()
    ends[-1] = n  # rounded, it could be another number
    counts = np.empty(n, dtype=np.int64)
    counts[order] = np.diff(np.ceil(ends))
    return counts


def _bounds(rows: int, batch_size: int, world_size: int) -> np.ndarray:
    """Return the boundaries of the batches; the number of batches is a multiple of the number of ranks."""
    batches = -(-rows // (batch_size * world_size)) * world_size
    return np.arange(batches + 1) * rows // max(batches, 1)


def _divide(rows: np.ndarray, bounds: np.ndarray) -> Plan:
    """Split rows into batches at `bounds`; an empty batch gets a copy of another batch's row."""
    return [rows[start : max(stop, start + 1)] for start, stop in pairwise(bounds)]
