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
from src.files.tensors import read_tensors, require_dense

CONFIG = {"model": dict.fromkeys(MODEL_COMPONENTS, dict), "loss": dict, "data": dict, "choices?": {str: str}}
CARD = {"config": CONFIG, "codec": dict, "class_counts": [int], "fingerprint?": str}


@dataclass(frozen=True)
class Card:
    """The metadata of a checkpoint; with them, the weights can be used without other files.

    Args:
        config: the resolved configuration.
        class_counts: number of training texts of each class.
        fingerprint: fingerprint of the data; empty if an earlier version of Heed wrote the checkpoint.
    """

    config: dict[str, Any]
    codec: Codec
    class_counts: list[int]
    fingerprint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain containers, so that torch loads the checkpoint with `weights_only=True`."""
        return {
            "config": self.config,
            "codec": self.codec.to_dict(),
            "class_counts": self.class_counts,
            "fingerprint": self.fingerprint,
        }

    def with_options(self, options: Mapping[str, Mapping[str, Any]]) -> "Card":
        """Return a copy in which `options`, by component and option name, replace options of the model."""
        model = {name: {**node, **options.get(name, {})} for name, node in self.config["model"].items()}
        return replace(self, config={**self.config, "model": model})

    @classmethod
    def from_dict(cls, card: dict[str, Any]) -> "Card":
        """Create a card from the result of `to_dict`.

        Raises:
            ValueError: if a value is missing, has the wrong type or is out of range.
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
        """The configuration; references such as `${seed}` in it are escaped, and are therefore never resolved."""
        return OmegaConf.create(escape_all_references(self.config))


def load_checkpoint(path: str | Path) -> tuple[Card, dict[str, torch.Tensor]]:
    """Read a checkpoint's card and weights; the weights are mapped into memory.

    Raises:
        UserError: if the file is missing, damaged or not a checkpoint of Heed, or if a weight is not a dense tensor of
            finite numbers.
    """
    content, card = _read_validated(Path(path), mmap=True)
    return card, content["state_dict"]


def read_checkpoint(path: str | Path, mmap: bool = False) -> dict[str, Any]:
    """Read the whole content of a checkpoint, and validate its card and its weights.

    Args:
        mmap: whether to map the file into memory instead of copying its content.

    Raises:
        UserError: for the same reasons as `load_checkpoint`.
    """
    return _read_validated(Path(path), mmap)[0]


def _read_validated(path: Path, mmap: bool) -> tuple[dict[str, Any], Card]:
    content = read_tensors(path, mmap)
    if not isinstance(content, dict) or "heed" not in content or "state_dict" not in content:
        raise UserError(f"{path} is not a checkpoint of Heed: it lacks the weights or the configuration")
    try:
        card = Card.from_dict(content["heed"])
    except ValueError as error:
        raise UserError(
            f"{path}: was written by another version of Heed, or is damaged ({error}); train again"
        ) from error
    try:
        _require_weights(content["state_dict"])
    except (ValueError, RuntimeError) as error:  # isfinite is not implemented for all dtypes
        raise UserError(
            f"{path}: its weights cannot be used ({error}); use another checkpoint, or train again"
        ) from error
    return content, card


def _require_weights(weights: Any) -> None:
    """Check that all weights are dense, finite tensors on the CPU, no larger than their storage.

    Raises:
        ValueError: if a weight is invalid; the message names the first such weight.
        RuntimeError: if torch cannot check a weight.
    """
    require(weights, {str: torch.Tensor}, "state_dict")
    for name, tensor in weights.items():
        require_dense(tensor, f"state_dict.{name}")
        if not torch.isfinite(tensor).all():
            raise ValueError(f"state_dict.{name}: has NaN or infinite weights")
