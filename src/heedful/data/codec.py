"""The codec: the tokenizer, truncation and task that a checkpoint stores with its model."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator, PositiveInt, model_validator

from heedful.data.padded_batches import BatchBuilder, Truncation
from heedful.data.tokenizer import Tokenizer
from heedful.tasks.stored import StoredTask


def _tokenizer(value: Any) -> Tokenizer:
    return value if isinstance(value, Tokenizer) else Tokenizer.from_json(value)


class Codec(BaseModel):
    """Converts texts to batches in the same way as in training. In JSON, the tokenizer is a string."""

    model_config = ConfigDict(frozen=True)

    tokenizer: Annotated[Tokenizer, PlainValidator(_tokenizer), PlainSerializer(Tokenizer.to_json)]
    task: StoredTask
    max_length: PositiveInt
    keep: Literal["first", "last"]

    @model_validator(mode="before")
    @classmethod
    def _of_classes(cls, values: Any) -> Any:
        """Accept the names of classes in place of the task, as earlier versions have written them."""
        if isinstance(values, dict) and "class_names" in values:
            return {**values, "task": {"classes": values["class_names"]}}
        return values

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, in the order of the probabilities."""
        return self.task.classes

    @property
    def truncation(self) -> Truncation:
        return Truncation(self.max_length, self.keep)

    def reads_as(self, other: "Codec") -> bool:
        """Return whether both codecs have the same tokenizer and truncation, and so give the same tokens."""
        return self.truncation == other.truncation and self.tokenizer.to_json() == other.tokenizer.to_json()

    def builder(self, texts: Sequence[str], device: torch.device | str = "cpu") -> BatchBuilder:
        """Return a builder of batches of these texts; their labels are unknown."""
        unlabelled = self.task.unlabelled(len(texts))
        return BatchBuilder(*self.tokenizer.encode(texts), unlabelled, self.truncation, device)

    def read(self, texts: Sequence[str], device: torch.device | str = "cpu") -> tuple[BatchBuilder, list[list[str]]]:
        """Return a builder as `builder` does, and each text's tokens after truncation in their original spelling."""
        tokens, offsets, words = self.tokenizer.read(texts)
        builder = BatchBuilder(tokens, offsets, self.task.unlabelled(len(texts)), self.truncation, device)
        spans = zip(builder.starts(np.arange(len(builder))), builder.lengths, strict=True)
        return builder, [words[start : start + length] for start, length in spans]
