"""The type `Encoded`, which encoders and attention mechanisms return, and the letters in shapes.

Letters in shapes: N texts, L tokens, T states, H heads, D features, C classes. Every mask is boolean; True marks a
real token or state, False marks padding.
"""

from typing import NamedTuple

from torch import Tensor


class Encoded(NamedTuple):
    """The states of each text, and a summary vector of the text; each component defines its own summary.

    Self-attention returns T = L states. Query attention returns the context vector as a sequence of T = 1 state, so
    that later components treat both alike.
    """

    states: Tensor  # N×T×D, zero where mask is False
    mask: Tensor  # N×T bool
    summary: Tensor  # N×D
