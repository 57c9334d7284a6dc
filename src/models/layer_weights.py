"""Recording of the attention weights in an encoder's layers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from src.models.attention.self_attention import SelfAttention
from src.models.encoder.stack import AttentionSublayer
from src.models.types import Encoded


@contextmanager
def record_layer_weights(encoder: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Record the weights of each self-attention layer in an encoder during forward passes within this context.

    Yields:
        A dictionary from the names "encoder 1", "encoder 2", … to weights N×H×L×L of the latest forward pass. It stays
        empty for recurrent, elementwise and pretrained encoders, because they contain no `SelfAttention`.
    """
    weights: dict[str, Tensor] = {}

    def record(name: str, sublayer: AttentionSublayer, inputs: tuple[Any, ...]) -> None:
        states, mask = inputs
        attention: Any = sublayer.attention
        weights[name] = attention.weights(Encoded(sublayer.prepare(states), mask, states[:, 0]))

    sublayers = [module for module in encoder.modules() if isinstance(module, AttentionSublayer)]
    sublayers = [sublayer for sublayer in sublayers if isinstance(sublayer.attention, SelfAttention)]
    hooks = [
        sublayer.register_forward_pre_hook(
            lambda module, inputs, name=f"encoder {number}": record(name, module, inputs)
        )
        for number, sublayer in enumerate(sublayers, 1)
    ]
    try:
        yield weights
    finally:
        for hook in hooks:
            hook.remove()
