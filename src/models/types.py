"""The type `Encoded`, which encoders and attentions return, and the letters of shapes.

Letters in shapes: N texts, L tokens, T states, H heads, D features, C classes. Every mask is boolean; True marks a
real token or state, False marks padding.
"""

from typing import NamedTuple

from torch import Tensor


class Encoded(NamedTuple):
    """The states of each text, and a summary vector of the whole text, which each component computes in its own way.

    Self-attentions return T = L states. Query attentions return their context vector as a sequence of T = 1 state, so
    later components treat both in the same way.
    """

    states: Tensor  # N×T×D, zero where mask is False
    mask: Tensor  # N×T bool
    summary: Tensor  # N×D
