"""The texts that a model was trained on, as hashes, which tell how many of other texts are among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TrainedTexts:
    """Hashes of distinct training texts, as in `TokenizedSplit.digests`.

    Args:
        hashes: int64 in ascending order, at least one.
        distinct: the number of distinct training texts. If it exceeds the number of hashes, these are the lowest ones,
            which are an even sample of the texts.
    """

    hashes: np.ndarray
    distinct: int

    @classmethod
    def of(cls, digests: np.ndarray) -> "TrainedTexts":
        hashes = np.unique(digests)
        return cls(hashes, len(hashes))


def count_trained(digests: np.ndarray, models: Sequence[TrainedTexts | None]) -> tuple[int | None, int | None]:
    """Return how many of n texts at least one of the models was trained on, and of how many texts this is known.

    Both are None if nothing is known about one of the models.
    """
    known = [texts for texts in models if texts is not None]
    if len(known) < len(models):
        return None, None
    samples = [texts.hashes for texts in known if texts.distinct > len(texts.hashes)]
    checked = digests[digests <= min((hashes[-1] for hashes in samples), default=np.inf)]
    is_trained = np.logical_or.reduce([np.isin(checked, texts.hashes) for texts in known])
    return int(is_trained.sum()), len(checked)
