"""The first state."""

from torch import Tensor

from src.models.masking import state_at
from src.models.pooling.base import Pooling
from src.models.types import Encoded


class First(Pooling):
    """The first real state of each text."""

    def forward(self, encoded: Encoded) -> Tensor:
        return state_at(encoded.states, encoded.mask, last=False)
