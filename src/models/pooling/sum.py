"""The sum of the states."""

from torch import Tensor

from src.models.masking import masked_sum
from src.models.pooling.base import Pooling
from src.models.types import Encoded


class Sum(Pooling):
    """Sum over the real states, which grows with the length of the text."""

    def forward(self, encoded: Encoded) -> Tensor:
        return masked_sum(encoded.states, encoded.mask)
