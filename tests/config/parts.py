"""Classes for the configs in tests/config/conf to name."""

from collections.abc import Sequence
from typing import Any, Literal


class Toy:
    def __init__(self, *, batch_size: int, seed: int | None = None) -> None: ...


class Csv:
    def __init__(self, path: str, *, batch_size: int) -> None: ...


class Encoder:
    def __init__(
        self,
        input_dim: int,
        *,
        cell: Literal["rnn", "lstm"] = "rnn",
        hidden_dim: int = 2,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None: ...


class Attention:
    def __init__(self, input_dim: int, heads: int) -> None: ...


class NoAttention:
    def __init__(self, input_dim: int) -> None: ...


class Optimizer:
    def __init__(self, params: Any, lr: float, betas: tuple[float, float] = (0.9, 0.99)) -> None: ...


class Logger:
    def __init__(self, folder: str, names: Sequence[str] | None = None, **kwargs: Any) -> None: ...
