"""What a checkpoint holds besides weights, so that it can be used alone, and how one is read."""

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from src.data.codec import Codec
from src.errors import UserError


@dataclass(frozen=True)
class Card:
    """Everything of a training run that its weights need to be understood.

    Args:
        config: the resolved configuration.
        codec: how text becomes tokens, and the names of the classes.
        class_counts: training texts of each class.
    """

    config: dict[str, Any]
    codec: Codec
    class_counts: list[int]

    def to_dict(self) -> dict[str, Any]:
        """Plain containers only, so that a checkpoint loads with `weights_only=True`."""
        return {"config": self.config, "codec": self.codec.to_dict(), "class_counts": self.class_counts}

    def with_options(self, found: Mapping[str, Mapping[str, Any]]) -> "Card":
        """With these options of parts of the model written into its configuration."""
        model = {name: {**options, **found.get(name, {})} for name, options in self.config["model"].items()}
        return replace(self, config={**self.config, "model": model})

    @classmethod
    def from_dict(cls, card: dict[str, Any]) -> "Card":
        return cls(card["config"], Codec.from_dict(card["codec"]), card["class_counts"])

    @property
    def cfg(self) -> DictConfig:
        """The configuration as the run saw it: what looks like a reference in it is text."""
        return OmegaConf.create(_escaped(self.config))


def _escaped(node: Any) -> Any:
    """Texts with `${` in OmegaConf's notation for exactly that text, so that a file cannot read the environment."""
    if isinstance(node, dict):
        return {key: _escaped(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_escaped(value) for value in node]
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", node) if isinstance(node, str) else node


def load(path: str | Path) -> tuple[Card, dict[str, torch.Tensor]]:
    """Read a checkpoint's card and weights.

    Raises:
        UserError: if the file is missing, cut short, or not one of Heed's.
    """
    path = Path(path)
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file in it, such as {path / 'checkpoints' / 'best.ckpt'}")
    if not path.exists():
        raise UserError(f"{path}: no such checkpoint; a run keeps its own in <run folder>/checkpoints/")
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises a different one for every way in which a file can be broken
        raise UserError(f"{path}: {_ailment(path)}") from error
    if not isinstance(checkpoint, dict) or "heed" not in checkpoint or "state_dict" not in checkpoint:
        raise UserError(f"{path} is a checkpoint, but not one of Heed's: it lacks the configuration and the tokenizer")
    try:
        return Card.from_dict(checkpoint["heed"]), checkpoint["state_dict"]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: was written by another version of Heed ({error!r}); train again") from error


def _ailment(path: Path) -> str:
    """Why torch cannot read a file; torch writes zip files, whose directory stands at their end."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not start:
        return "the file is empty"
    if start == b"PK" and not zipfile.is_zipfile(path):
        return "the checkpoint was cut short; take another one, or copy it again"
    return "is no checkpoint, or one that holds more than plain values and tensors"
