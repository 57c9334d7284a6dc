"""The content of a checkpoint, and its validation when it is read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from src.config.keys import MODEL_COMPONENTS
from src.config.quoting import escape_all_references
from src.data.codec import Codec
from src.errors import UserError
from src.files.plain import require, require_plain
from src.files.tensors import read_tensors

CONFIG = {"model": dict.fromkeys(MODEL_COMPONENTS, dict), "loss": dict, "data": dict, "choices?": {str: str}}
CARD = {"config": CONFIG, "codec": dict, "class_counts": [int], "fingerprint?": str}


@dataclass(frozen=True)
class Card:
    """The metadata of a checkpoint, which make its weights usable without other files.

    Args:
        config: the resolved configuration.
        class_counts: number of training texts of each class.
        fingerprint: fingerprint of the data; empty if an earlier version wrote the file.
    """

    config: dict[str, Any]
    codec: Codec
    class_counts: list[int]
    fingerprint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain containers, so that a checkpoint loads with `weights_only=True`."""
        return {
            "config": self.config,
            "codec": self.codec.to_dict(),
            "class_counts": self.class_counts,
            "fingerprint": self.fingerprint,
        }

    def with_options(self, options: Mapping[str, Mapping[str, Any]]) -> "Card":
        """Return a copy with other options of the model's components, given by component and name."""
        model = {name: {**node, **options.get(name, {})} for name, node in self.config["model"].items()}
        return replace(self, config={**self.config, "model": model})

    @classmethod
    def from_dict(cls, card: dict[str, Any]) -> "Card":
        """Return a card from the result of `to_dict`.

        Raises:
            ValueError: if a value is missing, of another type or out of its range.
        """
        require(card, CARD)
        require_plain(card["config"], "config")
        codec, counts = Codec.from_dict(card["codec"]), card["class_counts"]
        if len(counts) != len(codec.class_names) or min(counts) < 0:
            raise ValueError(
                f"class_counts: expects {len(codec.class_names)} numbers of at least 0, one for each class"
            )
        return cls(card["config"], codec, counts, card.get("fingerprint", ""))

    @property
    def cfg(self) -> DictConfig:
        """The configuration; references `${…}` in it are plain text and are never resolved."""
        return OmegaConf.create(escape_all_references(self.config))


def load_checkpoint(path: str | Path) -> tuple[Card, dict[str, torch.Tensor]]:
    """Read a checkpoint's card and weights.

    Raises:
        UserError: if the file is missing, damaged, or not a checkpoint of Heed, or if a weight is NaN or infinite.
    """
    content, card = _read_validated(Path(path), mmap=True)
    return card, content["state_dict"]


def read_checkpoint(path: str | Path, mmap: bool = False) -> dict[str, Any]:
    """Read the whole content of a checkpoint, with a validated card and validated weights.

    Args:
        mmap: whether to map the file into memory, so that tensors are read when they are used.

    Raises:
        UserError: as `load_checkpoint` does.
    """
    return _read_validated(Path(path), mmap)[0]


def _read_validated(path: Path, mmap: bool) -> tuple[dict[str, Any], Card]:
    content = read_tensors(path, mmap)
    if not isinstance(content, dict) or "heed" not in content or "state_dict" not in content:
        raise UserError(f"{path} is not a checkpoint of Heed: it lacks the configuration and the tokenizer")
    try:
        card = Card.from_dict(content["heed"])
    except ValueError as error:
        raise UserError(
            f"{path}: was written by another version of Heed, or is damaged ({error}); train again"
        ) from error
    try:
        _require_weights(content["state_dict"])
    except (ValueError, RuntimeError) as error:  # torch does not implement isfinite for all dtypes
        raise UserError(
            f"{path}: its weights cannot be used ({error}); use another checkpoint, or train again"
        ) from error
    return content, card


def _require_weights(weights: Any) -> None:
    """Check that all weights are dense tensors on the CPU, no larger than their storage, and finite.

    Raises:
        ValueError: if a weight is invalid; the message names the first one.
    """
    require(weights, {str: torch.Tensor}, "state_dict")
    for name, tensor in weights.items():
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
            raise ValueError(f"state_dict.{name}: expects a dense tensor")
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise ValueError(f"state_dict.{name}: its shape {tuple(tensor.shape)} is larger than its data")
        if not torch.isfinite(tensor).all():
            raise ValueError(f"state_dict.{name}: has NaN or infinite weights")
