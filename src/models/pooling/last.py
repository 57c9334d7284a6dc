"""The text's summary."""

from torch import Tensor

from src.models.pooling.base import Pooling
from src.models.types import Encoded


class Last(Pooling):
    """What the part before holds to be the whole text: an RNN's last hidden states, an attention's context vector."""

    def forward(self, encoded: Encoded) -> Tensor:
        return encoded.summary
