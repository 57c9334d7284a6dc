"""Normalizers, which convert the scores of an attention to weights, in place of softmax."""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import ClassVar

import torch
from torch import Tensor

from heedful.base.optional_packages import require_extra
from heedful.models.component import Attention, Encoder

LOWEST = -1e9  # the score of padding; its square is finite in float32


class Normalizer(ABC):
    """Converts the scores of the real tokens to weights of at least 0.

    Attributes:
        sums_to_one: whether the weights of each row sum to 1.
    """

    sums_to_one: ClassVar[bool] = True

    @abstractmethod
    def normalize(self, scores: Tensor, mask: Tensor, dim: int) -> Tensor:
        """Return the weights along `dim`, where padding has the score LOWEST and may get any finite weight."""

    def __call__(self, scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
        """Return the weights; padding gets 0. The mask is broadcast to the scores."""
        precise = scores.to(torch.promote_types(scores.dtype, torch.float32))
        return self.normalize(precise.masked_fill(~mask, LOWEST), mask, dim).to(scores.dtype) * mask

    def attach(self, encoder: Encoder, attention: Attention) -> None:
        """Normalize all scores of the encoder and the attention, or raise a ValueError if there are none."""
        layers = [layer for part in (encoder, attention) for layer in part.modules() if isinstance(layer, Attention)]
        if not any(layer.has_scores for layer in layers):
            raise ValueError("encoder and attention have no scores: choose others, or model/normalizer=softmax")
        for layer in layers:
            layer.normalizer = self
            layer.sums_to_one = layer.sums_to_one and self.sums_to_one


class Sparsemax(Normalizer):
    """p = argmin_p ‖p − z‖² over the p ≥ 0 that sum to 1, often with zeros (Martins & Astudillo 2016, eq. 2)."""

    function: ClassVar[str] = "sparsemax"

    def __init__(self) -> None:
        require_extra("entmax", by=f"model/normalizer={self.function}", extra="sparse")
        self.of = getattr(import_module("entmax"), self.function)

    def normalize(self, scores: Tensor, mask: Tensor, dim: int) -> Tensor:
        weights: Tensor = self.of(scores, dim)
        return weights


class Entmax15(Sparsemax):
    """p_i = max(z_i / 2 − τ, 0)², where τ makes the sum 1; some are 0 (Peters, Niculae & Martins 2019, α = 1.5)."""

    function = "entmax15"


class Sigmoid(Normalizer):
    """p_i = σ(z_i − log n) with n real tokens: a row need not sum to 1 (Ramapuram et al. 2024, arXiv 2409.04431)."""

    sums_to_one = False

    def normalize(self, scores: Tensor, mask: Tensor, dim: int) -> Tensor:
        count = mask.sum(dim, keepdim=True).clamp(min=1)
        return torch.sigmoid(scores - count.to(scores.dtype).log())
