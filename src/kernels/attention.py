"""Attention without materialized weights, by the fastest kernel of the device."""

import torch.nn.functional as F
from torch import Tensor

from src.kernels.dropped_attention import dropped_attention


def fused_attention(queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, drop_rate: float) -> Tensor:
    """Return softmax(q kᵀ) v over the visible keys of each query: N×H×T×d, N×H×L×d, N×H×L×d → N×H×T×d.

    A query without visible keys would give NaN on some backends. Such a query attends to all keys instead, and the
    caller must set its result to zero.

    Args:
        queries: queries, already multiplied by the scale of the scores.
        keys: keys with the same number of features as the queries.
        values: values with any number of features.
        visible: bool, broadcastable to N×H×T×L; True if the query may attend to the key.
        drop_rate: probability in [0, 1) of dropping a weight; the others are scaled by 1 / (1 - drop_rate).
    """
    visible = visible | ~visible.any(-1, keepdim=True)
    if drop_rate and queries.device.type == "cpu":
        return dropped_attention(queries, keys, values, visible, drop_rate)
    return F.scaled_dot_product_attention(queries, keys, values, visible, drop_rate, scale=1.0)
