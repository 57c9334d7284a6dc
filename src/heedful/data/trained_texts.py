"""The texts that a model was trained on, as hashes, which tell how many of other texts are among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xxhash

from heedful.data.padded_batches import Tokens
from heedful.data.table import Text, join_parts


@dataclass(frozen=True)
class TrainedTexts:
    """Hashes of distinct training texts or of their tokens, as in `TokenizedSplit`.

    Args:
        hashes: int64 in ascending order, at least one.
        distinct: the number of distinct training texts. If it exceeds the number of hashes, these are the lowest ones,
            which are an even sample of the texts.
        of_tokens: whether the hashes are those of the tokens, which texts share that only differ in ways that the
            tokenizer does not see, such as letter case.
    """

    hashes: np.ndarray
    distinct: int
    of_tokens: bool = False

    @classmethod
    def of(cls, digests: np.ndarray, of_tokens: bool = False) -> "TrainedTexts":
        hashes = np.unique(digests)
        return cls(hashes, len(hashes), of_tokens)


def hash_tokens(tokens: Tokens, texts: Sequence[Text], unknown_id: int | None) -> np.ndarray:
    """Return a hash of the tokens of each text, n int64; texts of a pair that are divided elsewhere have another.

    Texts with unknown words have the same hash only if they agree except in letter case and white space: a model does
    not know a text of which it cannot read the words.
    """
    content, ends = tokens.ids.tobytes(), (4 * tokens.offsets).tolist()
    seeds = [0] * len(texts) if tokens.bounds is None else (tokens.bounds @ [1 << 32, 1]).tolist()
    spellings = dict.fromkeys(range(len(texts)), b"")
    unknown = np.flatnonzero(tokens.ids == unknown_id)
    for row in np.unique(np.searchsorted(tokens.offsets, unknown, "right") - 1).tolist():
        spellings[row] = " ".join(join_parts(texts[row]).lower().split()).encode()
    hashes = [
        xxhash.xxh3_64_intdigest(content[start:end] + spellings[row], seed)
        for row, (start, end, seed) in enumerate(zip(ends[:-1], ends[1:], seeds, strict=True))
    ]
    return np.array(hashes, dtype=np.uint64).view(np.int64)


def find_trained(
    texts: np.ndarray, tokens: np.ndarray, models: Sequence[TrainedTexts | None]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return which of n texts at least one of the models was trained on, and of which texts this is known: n bool each.

    The result is None if nothing is known about one of the models.

    Args:
        texts, tokens: hashes of the texts and of their tokens, n int64.
    """
    is_checked, is_trained = np.ones(len(texts), dtype=bool), np.zeros(len(texts), dtype=bool)
    for model in models:
        if model is None:
            return None
        digests = tokens if model.of_tokens else texts
        is_trained |= np.isin(digests, model.hashes)
        if model.distinct > len(model.hashes):
            is_checked &= digests <= model.hashes[-1]
    return is_trained & is_checked, is_checked
