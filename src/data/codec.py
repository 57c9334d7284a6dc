"""The codec: the tokenizer, truncation and class names that a checkpoint stores with its model."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import BaseModel, Field, PositiveInt

from src.data.padded_batches import BatchBuilder, Truncation
from src.data.tokenizer import Tokenizer

NO_LABEL = -1


class _State(BaseModel):
    """The codec as strings, numbers and lists, in checkpoints."""

    tokenizer: str  # JSON
    max_length: PositiveInt
    keep: Literal["first", "last"]
    class_names: Annotated[list[str], Field(min_length=1)]


@dataclass(frozen=True)
class Codec:
    """Converts texts to batches in the same way as in training. Checkpoints store the result of `to_dict`."""

    tokenizer: Tokenizer
    truncation: Truncation
    class_names: tuple[str, ...]  # C

    def reads_as(self, other: "Codec") -> bool:
        """Return whether both codecs have the same tokenizer and truncation, and so give the same tokens."""
        return self.truncation == other.truncation and self.tokenizer.to_json() == other.tokenizer.to_json()

    def builder(self, texts: Sequence[str], device: torch.device | str = "cpu") -> BatchBuilder:
        """Return a builder of batches of these texts; every label is `NO_LABEL`."""
        return BatchBuilder(*self.tokenizer.encode(texts), np.full(len(texts), NO_LABEL), self.truncation, device)

    def read(self, texts: Sequence[str], device: torch.device | str = "cpu") -> tuple[BatchBuilder, list[list[str]]]:
        """Return a builder as `builder` does, and each text's tokens after truncation in their original spelling."""
        tokens, offsets, words = self.tokenizer.read(texts)
        builder = BatchBuilder(tokens, offsets, np.full(len(texts), NO_LABEL), self.truncation, device)
        spans = zip(builder.starts(np.arange(len(builder))), builder.lengths, strict=True)
        return builder, [words[start : start + length] for start, length in spans]

    def to_dict(self) -> dict[str, Any]:
        state = {"tokenizer": self.tokenizer.to_json(), "class_names": list(self.class_names)}
        return {**state, **asdict(self.truncation)}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Codec":
        """Return the codec for a result of `to_dict`; raise a ValueError if a value is missing or invalid."""
        valid = _State.model_validate(state, strict=True)
        if len(set(valid.class_names)) < len(valid.class_names):
            raise ValueError("class_names: two classes have the same name")
        truncation = Truncation(valid.max_length, valid.keep)
        return cls(Tokenizer.from_json(valid.tokenizer), truncation, tuple(valid.class_names))
