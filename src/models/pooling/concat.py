"""Concat pooling (Howard & Ruder 2018)."""

import torch
from torch import Tensor

from src.models.masking import masked_max, masked_mean
from src.models.pooling.base import Pooling
from src.models.types import Encoded


class Concat(Pooling):
    """Summary, maximum and mean, concatenated: [h_T; max H; mean H] (Howard & Ruder 2018, section 3.3): N×3D."""

    width = 3

    def forward(self, encoded: Encoded) -> Tensor:
        states, mask = encoded.states, encoded.mask
        return torch.cat([encoded.summary, masked_max(states, mask), masked_mean(states, mask)], -1)
