"""The codec: the tokenizer, truncation and task that a checkpoint stores with its model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
from pydantic import Field, PlainSerializer, PlainValidator, model_validator

from heedful.data.padded_batches import BatchBuilder, Tokens, Truncation
from heedful.data.texts import TextForm
from heedful.data.tokenizer import Tokenizer
from heedful.tasks.stored import StoredTask

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def _tokenizer(value: Any) -> Tokenizer:
    return value if isinstance(value, Tokenizer) else Tokenizer.from_json(value)


class Codec(TextForm):
    """Converts texts to batches in the same way as in training. In JSON, the tokenizer is a string."""

    tokenizer: Annotated[Tokenizer, PlainValidator(_tokenizer), PlainSerializer(Tokenizer.to_json)]
    task: StoredTask
    max_length: Annotated[int, Field(gt=0, lt=2**31)]
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
        features = self.encode_columns(texts)
        return self._builder(self.tokenizer.encode(texts), features, device)

    def read(self, texts: Sequence[str], device: torch.device | str = "cpu") -> tuple[BatchBuilder, list[list[str]]]:
        """Return a builder as `builder` does, and each text's tokens after truncation in their original spelling."""
        features = self.encode_columns(texts)
        tokens, words = self.tokenizer.read(texts)
        builder = self._builder(tokens, features, device)
        return builder, [[words[i] for i in builder.spans.positions(row).tolist()] for row in range(len(builder))]

    def _builder(self, tokens: Tokens, features: "csr_matrix | None", device: torch.device | str) -> BatchBuilder:
        labels = self.task.unlabelled(len(tokens.offsets) - 1)
        return BatchBuilder(tokens.ids, tokens.offsets, labels, self.truncation, device, tokens.bounds, features)
