"""In which order a pass over a split visits its rows: a plan is a list of row arrays, one a batch.

On every rank a plan has ceil(n / (batch_size * world_size)) batches, whose sizes differ by one row at most:
no row is dropped, no batch is a stub, and no row stands twice unless the ranks outnumber the rows.
"""

from itertools import pairwise

import numpy as np

CHUNK = 50  # batches whose texts are sorted together: enough to save padding, few enough to stay random

Plan = list[np.ndarray]


def by_length(lengths: np.ndarray, batch_size: int, rank: int, world_size: int) -> Plan:
    """The fixed order of evaluation: longest texts first, so that what exceeds the memory fails at once."""
    rows = np.argsort(-lengths, kind="stable")
    bounds = _bounds(len(rows), batch_size, world_size)
    return _cut(rows, bounds)[rank::world_size]


def shuffled(
    lengths: np.ndarray, batch_size: int, seed: int, buckets: bool, rank: int, world_size: int, epoch: int
) -> Plan:
    """The order of one training epoch: a pure function of its arguments.

    Args:
        lengths: n int64, tokens of each text.
        buckets: put texts of like length together: rows are shuffled, sorted within chunks of 50 batches (an
            eighth of a small split, which must still mix), and the batches are shuffled in turn.
        rank: of `world_size`, which get different batches of like length at each step.
    """
    rng = np.random.default_rng([seed, epoch])
    rows = rng.permutation(len(lengths))
    bounds = _bounds(len(rows), batch_size, world_size)
    steps = (len(bounds) - 1) // world_size
    if buckets:
        chunk = min(CHUNK, max(1, steps // 8)) * world_size
        for start, stop in pairwise([*bounds[:-1:chunk], bounds[-1]]):
            some = rows[start:stop]
            rows[start:stop] = some[np.argsort(lengths[some], kind="stable")]
    batches = _cut(rows, bounds)
    return [batches[step * world_size + rank] for step in rng.permutation(steps)]


def _bounds(rows: int, batch_size: int, world_size: int) -> np.ndarray:
    """Where batches begin and end, so that each rank gets the same number of them."""
    parts = -(-rows // (batch_size * world_size)) * world_size
    return np.arange(parts + 1) * rows // max(parts, 1)


def _cut(rows: np.ndarray, bounds: np.ndarray) -> Plan:
    """Batches between `bounds`; one that would be empty repeats a row."""
    return [rows[start : max(stop, start + 1)] for start, stop in pairwise(bounds)]
