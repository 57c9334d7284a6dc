"""Batches for the training of guides and adversaries."""

from collections.abc import Iterator

import numpy as np
from torch import Tensor

from src.data.batch_order import shuffled
from src.faithfulness.probe import Probe, Texts

BATCH_SIZE = 32


def training_batches(probe: Probe, texts: Texts, epochs: int, seed: int) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
    """Yield the rows, tokens N×L and mask N×L of random batches, each of at most 32 texts of similar length."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    for epoch in range(epochs):
        for rows in shuffled(lengths, BATCH_SIZE, seed, True, 0, 1, epoch):
            yield rows, *probe.batch([texts[row] for row in rows])
