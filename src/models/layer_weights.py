"""What each layer of an encoder attends to, seen while it reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from src.models.attention.self_attention import SelfAttention
from src.models.encoder.stack import AttentionSublayer
from src.models.types import Encoded


@contextmanager
def record_layer_weights(encoder: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collects the weights N×H×L×L of each self-attention in an encoder's blocks, as "encoder 1", "encoder 2", …

    Empty where the encoder has none: a recurrent one, the elementwise one, and a pretrained one, whose layers are not
    ours.
    """
    seen: dict[str, Tensor] = {}

    def watch(name: str, part: AttentionSublayer, inputs: tuple[Any, ...]) -> None:
        states, mask = inputs
        attention: Any = part.attention
        seen[name] = attention.weights(Encoded(part.prepare(states), mask, states[:, 0]))

    parts = [part for part in encoder.modules() if isinstance(part, AttentionSublayer)]
    parts = [part for part in parts if isinstance(part.attention, SelfAttention)]
    hooks = [
        part.register_forward_pre_hook(lambda part, inputs, name=f"encoder {number}": watch(name, part, inputs))
        for number, part in enumerate(parts, 1)
    ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
