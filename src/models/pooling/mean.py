"""The mean of the states."""

from torch import Tensor

from src.models.masking import masked_mean
from src.models.pooling.base import Pooling
from src.models.types import Encoded


class Mean(Pooling):
    """Mean over the real states."""

    def forward(self, encoded: Encoded) -> Tensor:
        return masked_mean(encoded.states, encoded.mask)
