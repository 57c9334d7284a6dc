"""The value that encoder, attention and pooling exchange.

Letters in shapes: N texts, L tokens, T states, H heads, D features, C classes. A mask is boolean and True
marks a real token, everywhere.
"""

from typing import NamedTuple

from torch import Tensor


class Encoded(NamedTuple):
    """The states of texts and their summaries, each the component's own representation of the whole text.

    A context vector is a sequence of length one: query attentions return T = 1 and self-attentions T = L. Later
    components treat both in the same way.
    """

    states: Tensor  # N×T×D, zero where mask is False
    mask: Tensor  # N×T bool
    summary: Tensor  # N×D
