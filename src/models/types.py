"""The two values that flow through Heed: a batch of tokens, and what an encoder or attention makes of it.

Letters used in every shape: N texts, L tokens, T states, H heads, D features, C classes. A mask is boolean and True
marks a real token, everywhere.
"""

from typing import NamedTuple

from torch import Tensor


class Batch(NamedTuple):
    """Texts of one training or evaluation step, padded to the longest of them or little more."""

    tokens: Tensor  # N×L int64, padding is 0
    mask: Tensor  # N×L bool
    labels: Tensor  # N int64
    index: Tensor  # type: ignore[assignment]  # N int64, the text's row number in its split


class Encoded(NamedTuple):
    """States of a text and the vector that the part itself holds to be the whole text.

    A context vector is a sequence of length one, so query attentions return T = 1 and self-attentions T = L; every
    part downstream treats both alike.
    """

    states: Tensor  # N×T×D, zero where mask is False
    mask: Tensor  # N×T bool
    summary: Tensor  # N×D
