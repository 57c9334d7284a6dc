"""A checkpoint: its card (all that a model needs besides its weights), and how the file is read, whoever wrote it."""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    InstanceOf,
    JsonValue,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)

from heedful.base.errors import UserError
from heedful.base.files import first_mistake
from heedful.config.keys import rename_earlier
from heedful.config.mistakes import TextColumn
from heedful.config.overrides import escape_references
from heedful.data.schema import Schema
from heedful.data.trained_texts import TrainedTexts

if TYPE_CHECKING:  # importing Lightning takes seconds
    from heedful.data.source import Source

Node = dict[str, JsonValue]
REMEDY = "use another checkpoint, or train again"
CARD, EARLIER_CARD = "heedful", "heed"  # keys of the card in a checkpoint
MAX_HASHES = 100_000  # of the training texts, and of their tokens, 8 bytes each
HASHED = ("trained_texts", "trained_tokens")


class Columns(BaseModel):
    """Those options of the data that a model needs to read a table."""

    text: TextColumn = "text"


class Configuration(BaseModel):
    """The nodes of a configuration without which a model cannot be used."""

    model: dict[str, Node]
    loss: Node
    data: Columns
    choices: dict[str, str] = {}
    threads: PositiveInt | None = None


class Card(BaseModel):
    """The metadata of a checkpoint, stored as JSON; with them, the weights can be used without other files.

    The hashes of the training texts are stored as a tensor.

    Args:
        class_counts: number of training texts of each class.
        texts: number of training texts; 0 if an earlier version of Heedful wrote the checkpoint.
        trained_texts, trained_tokens: the training texts and their tokens; None if an earlier version of Heedful wrote
            the checkpoint.
    """

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")

    config: dict[str, Any]
    codec: Schema
    class_counts: list[NonNegativeInt]
    texts: NonNegativeInt = 0
    fingerprint: str = ""
    trained_texts: InstanceOf[TrainedTexts] | None = Field(default=None, exclude=True)
    trained_tokens: InstanceOf[TrainedTexts] | None = Field(default=None, exclude=True)

    _renamed = field_validator("config", mode="before")(rename_earlier)

    @classmethod
    def of(cls, config: Mapping[str, Any], data: "Source") -> "Card":
        """Return the card of a model with a resolved configuration that is trained on `data`."""
        split = data.tokenized("train")
        return cls(
            config=json.loads(json.dumps(config)),  # keys become strings
            codec=data.codec,
            class_counts=data.class_counts,
            texts=data.sizes["train"],
            fingerprint=data.data_fingerprint,
            trained_texts=TrainedTexts.of(split.digests),
            trained_tokens=TrainedTexts.of(split.token_digests, of_tokens=True),
        )

    @model_validator(mode="after")
    def _is_complete(self) -> "Card":
        Configuration.model_validate(self.config)
        task = self.codec.task
        task.predicted(np.zeros((1, len(task.outputs))))  # a ValueError if its state does not suit its classes
        if len(self.class_counts) != len(self.codec.class_names):
            raise ValueError(f"class_counts: expects {len(self.codec.class_names)} numbers, one for each class")
        return self

    @property
    def text_column(self) -> str | list[str]:
        """The column of the texts in the data of the training, or the two columns of pairs."""
        column: str | list[str] = self.config["data"].get("text", "text")
        return column

    @property
    def threads(self) -> int | None:
        """The number of CPU threads of the training; None for as many as torch uses."""
        threads: int | None = self.config.get("threads")
        return threads

    def with_options(self, options: Mapping[str, Mapping[str, Any]]) -> "Card":
        """Return a copy in which `options`, by component and option name, replace options of the model."""
        model = {name: {**node, **options.get(name, {})} for name, node in self.config["model"].items()}
        return self.model_copy(update={"config": {**self.config, "model": model}})

    def for_others(self) -> "Card":
        """Return a copy with only those options that a model needs, and without the paths of the data."""
        config = {name: self.config[name] for name in Configuration.model_fields if name in self.config}
        data = {name: value for name, value in self.config["data"].items() if not name.endswith(("path", "_dir"))}
        return self.model_copy(update={"config": {**config, "data": data}})

    def content(self) -> dict[str, Any]:
        """Return the entries of a checkpoint that `read_checkpoint` reads, except the weights."""
        content: dict[str, Any] = {CARD: self.model_dump_json()}
        for name in HASHED:
            if (texts := getattr(self, name)) is not None:
                hashes = torch.from_numpy(texts.hashes[:MAX_HASHES].copy())
                content[name] = {"hashes": hashes, "distinct": texts.distinct}
        return content

    def trained_on(self, data: "Source") -> TrainedTexts | None:
        """Return what is known of the training texts: by their tokens if `data` has the same tokenizer."""
        is_shared = self.trained_tokens and self.codec.tokenizer.to_json() == data.codec.tokenizer.to_json()
        return self.trained_tokens if is_shared else self.trained_texts

    @property
    def choices(self) -> dict[str, str]:
        """The choice of each config group, such as {"encoder": "bilstm"}."""
        return dict(self.config.get("choices", {}))

    def cfg(self, *keys: str) -> DictConfig:
        """Nodes of the configuration; references such as `${seed}` in them are escaped, and are never resolved."""
        return OmegaConf.create({key: escape_references(self.config[key]) for key in keys if key in self.config})


def read_checkpoint(path: str | Path) -> tuple[Card, dict[str, Any]]:
    """Read a checkpoint, and return its card and its whole content.

    Only plain values and tensors are read, so that a file from another person can run no code. The file is mapped into
    memory, so that only tensors in use are read.
    """
    path = Path(path)
    content = _read_tensors(path)
    entries = content if isinstance(content, dict) else {}
    key = CARD if CARD in entries else EARLIER_CARD
    if not isinstance(entries.get("state_dict"), dict) or key not in entries:
        raise UserError(f"{path} is not a checkpoint of Heedful: it lacks the weights or the card")
    try:
        card = Card.model_validate_json(entries[key], strict=True)
    except ValidationError as error:
        reason = first_mistake(error)[:300]
        raise UserError(
            f"{path}: was written by another version of Heedful, or is damaged ({reason}); train again"
        ) from error
    for name, tensor in content["state_dict"].items():
        if not (isinstance(name, str) and is_dense(tensor) and _is_finite(tensor)):
            raise UserError(f"{path}: the weights {name} are not a dense tensor of finite numbers; {REMEDY}")
    return card.model_copy(update={name: _trained_texts(content, name, path) for name in HASHED}), content


def _is_finite(tensor: torch.Tensor) -> bool:
    """Return whether all numbers are finite in the type that the model has."""
    if bool(tensor.sum(dtype=torch.float32).isfinite()):  # without a copy, unlike the check of all numbers
        return True
    return bool(tensor.float().isfinite().all())


def _trained_texts(content: Mapping[str, Any], name: str, path: Path) -> TrainedTexts | None:
    """Return the hashes of the training texts that `Card.content` has written; None if there are none."""
    if (stored := content.get(name)) is None:
        return None
    values: dict[str, Any] = stored if isinstance(stored, dict) else {}
    hashes, distinct = values.get("hashes", ()), values.get("distinct")
    is_valid = is_dense(hashes) and hashes.dtype == torch.int64 and hashes.ndim == 1 and 0 < len(hashes) <= MAX_HASHES
    if not is_valid or type(distinct) is not int or distinct < len(hashes):
        raise UserError(f"{path}: the hashes of its training texts are damaged; {REMEDY}")
    return TrainedTexts(np.unique(hashes.numpy()), distinct, name == "trained_tokens")


def _read_tensors(path: Path) -> Any:
    if not os.path.isfile(path):
        raise UserError(f"{path}: no such checkpoint; a run writes its checkpoints to <run folder>/checkpoints/")
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > path.stat().st_size:  # torch compresses nothing
                raise zipfile.BadZipFile("its entries are larger than the file")
            if (damaged := archive.testzip()) is not None:  # torch does not verify the checksums
                raise zipfile.BadZipFile(f"the checksum of {damaged!r} does not match")
        return torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except Exception as error:  # zipfile and torch raise many types
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
        raise UserError(
            f"{path}: is damaged, or is not a checkpoint of plain values and tensors ({reason}); {REMEDY}"
        ) from error


def is_dense(tensor: Any) -> bool:
    """Return whether a value is a dense tensor of real numbers on the CPU that is no larger than its storage."""
    return (
        isinstance(tensor, torch.Tensor)
        and tensor.layout == torch.strided
        and not (tensor.is_quantized or tensor.is_complex())
        and tensor.device.type == "cpu"
        and tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()
    )
