"""The codec: the tokenizer, truncation and task that a checkpoint stores with its model."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator, PositiveInt, model_validator

from heedful.base.errors import UserError
from heedful.data.padded_batches import BatchBuilder, Tokens, Truncation
from heedful.data.pairs import Pair
from heedful.data.tokenizer import Tokenizer
from heedful.tasks.stored import StoredTask

PAIRS = "give both: text=… second=…, text_column=[…,…], lines with a tab between the texts, or tuples in Python"
SINGLE = "name one column, or give one text for each"


def _tokenizer(value: Any) -> Tokenizer:
    return value if isinstance(value, Tokenizer) else Tokenizer.from_json(value)


class Codec(BaseModel):
    """Converts texts to batches in the same way as in training. In JSON, the tokenizer is a string."""

    model_config = ConfigDict(frozen=True)

    tokenizer: Annotated[Tokenizer, PlainValidator(_tokenizer), PlainSerializer(Tokenizer.to_json)]
    task: StoredTask
    max_length: PositiveInt
    keep: Literal["first", "last"]
    pairs: bool = False  # whether each text is a pair

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

    def check(self, are_pairs: bool, where: str = "texts") -> None:
        """Raise a UserError if the model reads pairs, but these texts are none, or the other way round."""
        if are_pairs != self.pairs:
            expected = "pairs of texts" if self.pairs else "single texts, not pairs"
            raise UserError(f"{where}: the model reads {expected}: {PAIRS if self.pairs else SINGLE}")

    def builder(self, texts: Sequence[str], device: torch.device | str = "cpu") -> BatchBuilder:
        """Return a builder of batches of these texts; their labels are unknown."""
        self._check(texts)
        return self._builder(self.tokenizer.encode(texts), device)

    def read(self, texts: Sequence[str], device: torch.device | str = "cpu") -> tuple[BatchBuilder, list[list[str]]]:
        """Return a builder as `builder` does, and each text's tokens after truncation in their original spelling."""
        self._check(texts)
        tokens, words = self.tokenizer.read(texts)
        builder = self._builder(tokens, device)
        return builder, [[words[i] for i in builder.spans.positions(row).tolist()] for row in range(len(builder))]

    def _check(self, texts: Sequence[str]) -> None:
        for are_pairs in {isinstance(text, Pair) for text in texts}:
            self.check(are_pairs)

    def _builder(self, tokens: Tokens, device: torch.device | str) -> BatchBuilder:
        labels = self.task.unlabelled(len(tokens.offsets) - 1)
        return BatchBuilder(tokens.ids, tokens.offsets, labels, self.truncation, device, tokens.bounds)
