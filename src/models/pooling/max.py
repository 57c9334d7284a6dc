"""The maximum of each feature."""

from torch import Tensor

from src.models.masking import masked_max
from src.models.pooling.base import Pooling
from src.models.types import Encoded


class Max(Pooling):
    """Maximum of each feature over the real states."""

    def forward(self, encoded: Encoded) -> Tensor:
        return masked_max(encoded.states, encoded.mask)
