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
from src.files.plain import require, require_plain

PARTS = ("embedding", "position", "encoder", "attention", "pooling", "head")
CONFIG = {"model": dict.fromkeys(PARTS, dict), "loss": dict, "data": dict, "choices?": {str: str}}
CARD = {"config": CONFIG, "codec": dict, "class_counts": [int]}
TRAINING = {  # what training resumes from, besides weights and card
    "epoch": int,
    "global_step": int,
    "pytorch-lightning_version": str,
    "loops": {"fit_loop": dict},
    "callbacks": {str: object},
    "optimizer_states": [{"state": dict, "param_groups": [{"params": [int]}]}],
    "lr_schedulers": [dict],
    "rng": {"cpu": torch.Tensor, "cuda": [torch.Tensor]},
}


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
        """The inverse of `to_dict`.

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
        return cls(card["config"], codec, counts)

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


def load_checkpoint(path: str | Path) -> tuple[Card, dict[str, torch.Tensor]]:
    """Read a checkpoint's card and weights.

    Raises:
        UserError: if the file is missing, damaged, or not one of Heed's; if a weight is NaN or infinite.
    """
    content, card = _validated(path, mmap=True)
    return card, content["state_dict"]


def read_checkpoint(path: str | Path, *, training: bool = False, mmap: bool = False) -> dict[str, Any]:
    """Everything that a checkpoint holds, validated.

    Args:
        path: of the file.
        training: validate what training resumes from, too.
        mmap: leave tensors in the file until they are used, for who uses few of them.

    Raises:
        UserError: as `load` does; or training cannot resume from it.
    """
    content, _ = _validated(path, mmap)
    if training:
        try:
            _require_training(content)
        except ValueError as error:
            raise UserError(
                f"{path}: training cannot resume from it ({error}); resume from another checkpoint, or train anew"
            ) from error
    return content


def _validated(path: str | Path, mmap: bool) -> tuple[dict[str, Any], Card]:
    path = Path(path)
    _require_file(path)
    try:
        _require_checksums(path)
        content = torch.load(path, map_location="cpu", mmap=mmap, weights_only=True)
    except Exception as error:  # torch and zipfile raise a different one for every way in which a file can be broken
        raise UserError(f"{path}: {_ailment(path)}") from error
    if not isinstance(content, dict) or "heed" not in content or "state_dict" not in content:
        raise UserError(f"{path} is a checkpoint, but not one of Heed's: it lacks the configuration and the tokenizer")
    try:
        card = Card.from_dict(content["heed"])
    except ValueError as error:
        raise UserError(
            f"{path}: was written by another version of Heed, or is damaged ({error}); train again"
        ) from error
    try:
        _require_weights(content["state_dict"])
    except (ValueError, RuntimeError) as error:  # torch has no test for some types of numbers
        raise UserError(
            f"{path}: its weights cannot be used ({error}); take another checkpoint, or train again"
        ) from error
    return content, card


def _require_file(path: Path) -> None:
    try:
        is_folder, is_file, exists = path.is_dir(), path.is_file(), path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # too long, a zero byte, a loop of links
        raise UserError(f"ckpt_path={str(path)[:200]!r}: cannot be read ({error})") from error
    if is_folder:
        raise UserError(f"{path} is a folder: name a file in it, such as {path / 'checkpoints' / 'best.ckpt'}")
    if not exists:
        raise UserError(f"{path}: no such checkpoint; a run keeps its own in <run folder>/checkpoints/")
    if not is_file:
        raise UserError(f"{path} is a pipe or a device: name a checkpoint file")


def _require_checksums(path: Path) -> None:
    """Torch itself does not check them, and loads flipped bits."""
    with zipfile.ZipFile(path) as archive:
        if (damaged := archive.testzip()) is not None:
            raise zipfile.BadZipFile(damaged)


def _require_weights(weights: Any) -> None:
    """Check that weights are tensors of finite numbers.

    Raises:
        ValueError: with the name of the first tensor that is not.
    """
    require(weights, {str: torch.Tensor}, "state_dict")
    for name, tensor in weights.items():
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
            raise ValueError(f"state_dict.{name}: expects a dense tensor")
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise ValueError(f"state_dict.{name}: its shape {tuple(tensor.shape)} is larger than its data")
        if not torch.isfinite(tensor).all():
            raise ValueError(f"state_dict.{name}: has NaN or infinite weights")


def _require_training(content: dict[str, Any]) -> None:
    require(content, TRAINING)
    if min(content["epoch"], content["global_step"]) < 0:
        raise ValueError("epoch and global_step must be at least 0")
    state, now = content["rng"]["cpu"], torch.get_rng_state()
    if state.dtype != now.dtype or state.shape != now.shape:
        raise ValueError("rng.cpu: is no state of torch's random numbers")


def _ailment(path: Path) -> str:
    """Why a file cannot be read; torch writes zip files, whose directory stands at their end."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not start:
        return "the file is empty"
    if start == b"PK" and not _is_intact(path):
        is_cut = not _has_directory(path)
        damage = "was cut short" if is_cut else "is damaged: its checksums do not match"
        return f"the checkpoint {damage}; take another one, or copy it again"
    return "is no checkpoint, or one that holds more than plain values and tensors"


def _has_directory(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path)
    except zipfile.BadZipFile:  # it has one that contradicts itself
        return True


def _is_intact(path: Path) -> bool:
    try:
        _require_checksums(path)
    except Exception:  # zipfile raises many kinds
        return False
    return True
