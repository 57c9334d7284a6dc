"""What a source reads: texts with their classes, before any tokenizing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Split:
    """Texts of one split and the class of each."""

    texts: Sequence[str]  # n
    labels: np.ndarray  # n int64, into `Corpus.class_names`
    groups: np.ndarray | None = None  # n int64: rows of one group are never parted by a later split


@dataclass(frozen=True)
class Corpus:
    """All splits that a source has of its own; the data module holds the missing ones out of `train`."""

    train: Split
    val: Split | None
    test: Split | None
    class_names: tuple[str, ...]
