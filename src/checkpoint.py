"""The content of a checkpoint, and its validation when it is read."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from src.config.quoting import escape_references
from src.data.codec import Codec
from src.errors import UserError
from src.files.plain import require, require_plain

PARTS = ("embedding", "position", "encoder", "attention", "pooling", "head")
CONFIG = {"model": dict.fromkeys(PARTS, dict), "loss": dict, "data": dict, "choices?": {str: str}}
CARD = {"config": CONFIG, "codec": dict, "class_counts": [int]}
TRAINING = {  # required to resume training, besides weights and card
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
    """The metadata of a checkpoint, which make its weights usable without other files.

    Args:
        config: the resolved configuration.
        codec: the tokenizer and the class names.
        class_counts: number of training texts of each class.
    """

    config: dict[str, Any]
    codec: Codec
    class_counts: list[int]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain containers, so that a checkpoint loads with `weights_only=True`."""
        return {"config": self.config, "codec": self.codec.to_dict(), "class_counts": self.class_counts}

    def with_options(self, options: Mapping[str, Mapping[str, Any]]) -> "Card":
        """A copy whose configuration has these options of the model's components."""
        model = {name: {**node, **options.get(name, {})} for name, node in self.config["model"].items()}
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
        """The configuration; interpolations in it are read as plain text."""
        return OmegaConf.create(_escaped(self.config))


def _escaped(node: Any) -> Any:
    """Escape interpolations in texts, so that a file cannot read environment variables."""
    if isinstance(node, dict):
        return {key: _escaped(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_escaped(value) for value in node]
    return escape_references(node) if isinstance(node, str) else node


def load_checkpoint(path: str | Path) -> tuple[Card, dict[str, torch.Tensor]]:
    """Read a checkpoint's card and weights.

    Raises:
        UserError: if the file is missing, damaged, or not a checkpoint of Heed, or if a weight is NaN or infinite.
    """
    content, card = _validated(path, mmap=True)
    return card, content["state_dict"]


def read_checkpoint(path: str | Path, *, training: bool = False, mmap: bool = False) -> dict[str, Any]:
    """Read the whole content of a checkpoint, validated.

    Args:
        path: of the file.
        training: also validate the state that training resumes from.
        mmap: map the file into memory, so that only tensors in use are read.

    Raises:
        UserError: as `load_checkpoint` does, or if training cannot resume from it.
    """
    content, _ = _validated(path, mmap)
    if training:
        try:
            _require_training(content)
        except ValueError as error:
            raise UserError(
                f"{path}: training cannot resume from it ({error}); use another one, or train from scratch"
            ) from error
    return content


def _validated(path: str | Path, mmap: bool) -> tuple[dict[str, Any], Card]:
    path = Path(path)
    _require_file(path)
    try:
        _require_checksums(path)
        content = torch.load(path, map_location="cpu", mmap=mmap, weights_only=True)
    except Exception as error:  # torch and zipfile raise many types for damaged files
        raise UserError(f"{path}: {_describe_damage(path)}") from error
    if not isinstance(content, dict) or "heed" not in content or "state_dict" not in content:
        raise UserError(f"{path} is a checkpoint, but not of Heed: it lacks the configuration and the tokenizer")
    try:
        card = Card.from_dict(content["heed"])
    except ValueError as error:
        raise UserError(
            f"{path}: was written by another version of Heed, or is damaged ({error}); train again"
        ) from error
    try:
        _require_weights(content["state_dict"])
    except (ValueError, RuntimeError) as error:  # torch lacks the test for some types of numbers
        raise UserError(
            f"{path}: its weights cannot be used ({error}); use another checkpoint, or train again"
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
        raise UserError(f"{path}: no such checkpoint; a run writes its checkpoints to <run folder>/checkpoints/")
    if not is_file:
        raise UserError(f"{path} is a pipe or a device: name a checkpoint file")


def _require_checksums(path: Path) -> None:
    """Check the CRCs of the zip file; torch does not check them, and would load flipped bits."""
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
    state, expected = content["rng"]["cpu"], torch.get_rng_state()
    if state.dtype != expected.dtype or state.shape != expected.shape:
        raise ValueError("rng.cpu: is not a state of torch's random number generator")


def _describe_damage(path: Path) -> str:
    """Describe why a file cannot be read; torch writes zip files, whose directory is at the end."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not start:
        return "the file is empty"
    if start == b"PK" and not _is_intact(path):
        is_cut = not _has_directory(path)
        damage = "is truncated" if is_cut else "is damaged: its checksums do not match"
        return f"the checkpoint {damage}; use another one, or copy it again"
    return "is not a checkpoint, or contains more than plain values and tensors; use a checkpoint of src.train"


def _has_directory(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path)
    except zipfile.BadZipFile:  # the directory contradicts itself
        return True


def _is_intact(path: Path) -> bool:
    try:
        _require_checksums(path)
    except Exception:  # zipfile raises many kinds
        return False
    return True
