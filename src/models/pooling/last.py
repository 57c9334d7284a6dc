"""The summary of the text as its vector."""

from torch import Tensor

from src.models.pooling.base import Pooling
from src.models.types import Encoded


class Last(Pooling):
    """The summary of the preceding component: an RNN's last hidden states, or an attention's context vector."""

    def forward(self, encoded: Encoded) -> Tensor:
        return encoded.summary
