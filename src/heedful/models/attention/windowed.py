"""Multi-head attention in a local window (Beltagy, Peters & Cohan 2020, section 3.1)."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from heedful.kernels.layers import fused_attention
from heedful.models.attention.self_attention import MultiHeadAttention
from heedful.models.component import Size


class WindowedAttention(MultiHeadAttention):
    """Multi-head attention in which token i attends only to tokens j with |i - j| ≤ w.

    `attend` divides the text into chunks of w tokens, and compares the queries of each chunk only with the keys of this
    chunk and the two neighbouring chunks. Its time and memory therefore grow as L·w; those of `weights` and of ONNX
    models still grow as L².
    """

    def __init__(self, input_dim: int, *, window: Size = 32, **options: Any) -> None:
        super().__init__(input_dim, **options)
        self.window = window

    def visible(self, mask: Tensor) -> Tensor:
        steps = torch.arange(mask.shape[1], device=mask.device)
        near = (steps[:, None] - steps).abs() <= self.window  # L×L
        return super().visible(mask) & near

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        texts, length = mask.shape
        window = self.window
        is_fixed = torch.onnx.is_in_onnx_export()  # an ONNX model would have a fixed number of chunks
        is_other = self.normalizer is not None or self.redefines(WindowedAttention, "score", "visible")
        if length <= window or is_fixed or is_other:
            return super().attend(queries, keys, values, mask)
        chunks = math.ceil(length / window)
        padding = chunks * window - length

        def neighbourhoods(tokens: Tensor) -> Tensor:  # N×H×L×d → (NC)×H×3w×d
            wide = F.pad(tokens, (0, 0, window, window + padding)).unfold(2, 3 * window, window)  # N×H×C×d×3w
            return wide.permute(0, 2, 1, 4, 3).flatten(0, 1)

        chunked = F.pad(queries, (0, 0, 0, padding)).unflatten(2, (chunks, window))  # N×H×C×w×d
        real = F.pad(mask, (window, window + padding)).unfold(1, 3 * window, window)  # N×C×3w
        steps = torch.arange(3 * window, device=mask.device)
        near = (steps[window : 2 * window, None] - steps).abs() <= window  # w×3w
        visible = (real.unsqueeze(2) & near).flatten(0, 1).unsqueeze(1)  # (NC)×1×w×3w
        outputs = fused_attention(
            chunked.transpose(1, 2).flatten(0, 1), neighbourhoods(keys), neighbourhoods(values), visible, self.drop_rate
        )
        by_text = outputs.unflatten(0, (texts, chunks)).transpose(1, 2)  # N×H×C×w×d
        return by_text.flatten(2, 3)[:, :, :length]
