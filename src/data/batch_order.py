"""The order of rows in a pass over a split: a plan is a list of row arrays, one per batch.

Each process (rank) has its own plan of ceil(n / (batch_size * world_size)) batches; the sizes of any two batches
differ by at most one row. No row is dropped, and no row is repeated unless the ranks together have more batches than
rows.
"""

from itertools import pairwise

import numpy as np

BATCHES_PER_BUCKET = 50  # batches per process whose rows are sorted together; more would make the order less random

Plan = list[np.ndarray]


def by_length(lengths: np.ndarray, batch_size: int, rank: int, world_size: int) -> Plan:
    """Return the fixed plan for evaluation, longest texts first: if memory is too small, the first batch fails."""
    rows = np.argsort(-lengths, kind="stable")
    bounds = _bounds(len(rows), batch_size, world_size)
    return _split(rows, bounds)[rank::world_size]


def shuffled(
    lengths: np.ndarray, batch_size: int, seed: int, buckets: bool, rank: int, world_size: int, epoch: int
) -> Plan:
    """Return the plan for one training epoch; the same arguments always give the same plan.

    Args:
        lengths: n integers, the number of tokens of each text.
        buckets: build batches of texts of similar length, also across the processes of a step. The rows are shuffled,
            then sorted by length within chunks of 50 steps, or of an eighth of all steps if that is fewer, so that the
            order stays random. Then the steps are shuffled.
    """
    rng = np.random.default_rng([seed, epoch])
    rows = rng.permutation(len(lengths))
    bounds = _bounds(len(rows), batch_size, world_size)
    steps = (len(bounds) - 1) // world_size
    if buckets:
        chunk = min(BATCHES_PER_BUCKET, max(1, steps // 8)) * world_size
        for start, stop in pairwise([*bounds[:-1:chunk], bounds[-1]]):
            chunk_rows = rows[start:stop]
            rows[start:stop] = chunk_rows[np.argsort(lengths[chunk_rows], kind="stable")]
    batches = _split(rows, bounds)
    return [batches[step * world_size + rank] for step in rng.permutation(steps)]


def _bounds(rows: int, batch_size: int, world_size: int) -> np.ndarray:
    """Return the boundaries of the batches; the number of batches is a multiple of the number of ranks."""
    batches = -(-rows // (batch_size * world_size)) * world_size
    return np.arange(batches + 1) * rows // max(batches, 1)


def _split(rows: np.ndarray, bounds: np.ndarray) -> Plan:
    """Split rows into batches at `bounds`; an empty batch gets a copy of another batch's row."""
    return [rows[start : max(stop, start + 1)] for start, stop in pairwise(bounds)]
