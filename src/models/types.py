"""The data types that components exchange: batches of tokens and encoded states.

Letters in shapes: N texts, L tokens, T states, H heads, D features, C classes. A mask is boolean and True
marks a real token, everywhere.
"""

from typing import NamedTuple

from torch import Tensor


class Batch(NamedTuple):
    """The texts of one training or evaluation step, padded to one length."""

    tokens: Tensor  # N×L int64, padding is 0
    mask: Tensor  # N×L bool
    labels: Tensor  # N int64
    index: Tensor  # type: ignore[assignment]  # N int64, the text's row number in its split


class Encoded(NamedTuple):
    """The states of texts and their summaries, each the component's own representation of the whole text.

    A context vector is a sequence of length one: query attentions return T = 1 and self-attentions T = L. Later
    components treat both in the same way.
    """

    states: Tensor  # N×T×D, zero where mask is False
    mask: Tensor  # N×T bool
    summary: Tensor  # N×D
