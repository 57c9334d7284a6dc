"""Classes that the configs in tests/config/conf name, each of the kind that its place accepts."""

from collections.abc import Sequence
from typing import Any, Literal

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger as LightningLogger

from heedful.data.source import Source
from heedful.models import component


class Toy(Source):
    def __init__(self, *, batch_size: int, seed: int | None = None) -> None: ...

    def read(self) -> Any: ...
    def fingerprint(self) -> str: ...


class Csv(Toy):
    def __init__(self, path: str, *, batch_size: int) -> None: ...


class Encoder(component.Encoder):
    def __init__(
        self,
        input_dim: int,
        *,
        cell: Literal["rnn", "lstm"] = "rnn",
        hidden_dim: int = 2,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None: ...
    def forward(self, *args: Any) -> Any: ...


class NoAttention(component.Attention):
    def __init__(self, input_dim: int) -> None: ...
    def weights(self, *args: Any) -> Any: ...
    def mix(self, *args: Any) -> Any: ...
    def forward(self, *args: Any) -> Any: ...


class Attention(NoAttention):
    def __init__(self, input_dim: int, heads: int) -> None: ...


class Head(component.Head):
    def __init__(self, input_dim: int, num_logits: int) -> None: ...
    def forward(self, *args: Any) -> Any: ...


class Optimizer(torch.optim.Optimizer):
    def __init__(self, params: Any, lr: float, betas: tuple[float, float] = (0.9, 0.99)) -> None:
        super().__init__(params, {"lr": lr, "betas": betas})


class Callback(pl.Callback):
    def __init__(self, input_dim: int, heads: int) -> None: ...


class Logger(LightningLogger):
    def __init__(self, folder: str, names: Sequence[str] | None = None, **kwargs: Any) -> None: ...

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    def log_hyperparams(self, *args: Any) -> None: ...
    def log_metrics(self, *args: Any) -> None: ...
