"""The summary vector of the preceding component."""

from torch import Tensor

from src.models.pooling.base import Pooling
from src.models.types import Encoded


class Last(Pooling):
    """The summary of the preceding component: an RNN's last hidden states, or the context vector of query attention."""

    def forward(self, encoded: Encoded) -> Tensor:
        return encoded.summary
