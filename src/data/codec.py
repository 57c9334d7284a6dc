"""The codec: the tokenizer, truncation and class names that a checkpoint stores with its model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from src.data.padded_batches import BatchBuilder, Truncation
from src.data.trained_tokenizer import Tokenizer
from src.files.plain import require

NO_LABEL = -1
STATE_SPEC = {"tokenizer": str, "max_length": int, "keep": str, "class_names": [str]}  # types in `to_dict`


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
        """Return the codec as strings, numbers and lists."""
        return {
            "tokenizer": self.tokenizer.to_json(),
            "max_length": self.truncation.max_length,
            "keep": self.truncation.keep,
            "class_names": list(self.class_names),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Codec":
        """Return the codec for a result of `to_dict`.

        Raises:
            ValueError: if a value is missing, has the wrong type or is invalid.
        """
        require(state, STATE_SPEC, "codec")
        names = tuple(state["class_names"])
        if len(set(names)) < len(names) or not names:
            raise ValueError("codec.class_names: expects at least one name, without duplicates")
        truncation = Truncation(state["max_length"], state["keep"])
        return cls(Tokenizer.from_json(state["tokenizer"]), truncation, names)
