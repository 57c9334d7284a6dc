"""Mean and maximum, concatenated."""

import torch
from torch import Tensor

from src.models.masking import masked_max, masked_mean
from src.models.pooling.base import Pooling
from src.models.types import Encoded


class MeanMax(Pooling):
    """Mean and maximum over the real states, concatenated: N×2D."""

    width = 2

    def forward(self, encoded: Encoded) -> Tensor:
        states, mask = encoded.states, encoded.mask
        return torch.cat([masked_mean(states, mask), masked_max(states, mask)], -1)
