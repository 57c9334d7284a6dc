"""The schema of a model: what it reads of a row, and its task; a checkpoint and an export contain it."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, model_validator

from heedful.base.errors import UserError
from heedful.base.formatting import format_list
from heedful.data.columns import Column, Coverage
from heedful.data.padded_batches import BatchBuilder, Tokens, Truncation
from heedful.data.table import Table, Text
from heedful.data.tokenizer import Tokenizer
from heedful.runtime import PLAIN, NumberForm
from heedful.tasks.stored import StoredTask

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

log = logging.getLogger(__name__)
PAIRS = "give both: text=… second=…, text_column=[…,…], lines with a tab between the texts, or tuples in Python"
SINGLE = "name one column, or give one text for each"


def _tokenizer(value: Any) -> Tokenizer:
    return value if isinstance(value, Tokenizer) else Tokenizer.from_json(value)


class Schema(BaseModel):
    """The text, the further columns, and the task, with pure functions that read new rows as in training.

    In JSON, the tokenizer is a string.
    """

    model_config = ConfigDict(frozen=True)

    tokenizer: Annotated[Tokenizer, PlainValidator(_tokenizer), PlainSerializer(Tokenizer.to_json)]
    max_length: Annotated[int, Field(gt=0, lt=2**31)]
    keep: Literal["first", "last"]
    pairs: bool = False  # whether a row has two texts
    columns: list[Column] = []
    numbers: NumberForm = PLAIN  # in texts
    task: StoredTask

    @model_validator(mode="before")
    @classmethod
    def _of_classes(cls, values: Any) -> Any:
        """Accept the names of classes beside the task, as exports have them, or in its place, as in old files."""
        if isinstance(values, dict) and "class_names" in values:
            return {**values, "task": {**values.get("task", {}), "classes": values["class_names"]}}
        return values

    @property
    def truncation(self) -> Truncation:
        return Truncation(self.max_length, self.keep)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, in the order of the probabilities."""
        return self.task.classes

    @property
    def features(self) -> int:
        """The number K of the features of the columns."""
        return sum(len(column.features) for column in self.columns)

    def reads_as(self, other: "Schema") -> bool:
        """Return whether both have the same tokenizer and truncation, and so give the same tokens."""
        return self.truncation == other.truncation and self.tokenizer.to_json() == other.tokenizer.to_json()

    def check(self, are_pairs: bool, where: str = "texts") -> None:
        """Raise a UserError if the model reads pairs, but these texts are none, or the other way round."""
        if are_pairs != self.pairs:
            expected = "pairs of texts" if self.pairs else "single texts, not pairs"
            raise UserError(f"{where}: the model reads {expected}: {PAIRS if self.pairs else SINGLE}")

    def checked(self, texts: Table | Sequence[Text]) -> Table:
        """Return the table of texts, all of which are single or pairs, as the model reads them."""
        table = Table.of(texts)
        for are_pairs in {not isinstance(text, str) for text in table.texts}:
            self.check(are_pairs)
        return table

    def encode_columns(self, table: Table) -> "tuple[csr_matrix | None, dict[str, Coverage]]":
        """Return the features of the columns, n×K, None without columns, and the coverage of each column by name.

        Raises:
            UserError: if a cell is not of the kind of its column.
        """
        if not self.columns:
            return None, {}
        from scipy.sparse import hstack  # slow, and few models have columns

        missing = [None] * len(table)
        encoded = [column.encode(table.cells.get(column.name, missing), table.where) for column in self.columns]
        coverage = {column.name: found for column, (_, found) in zip(self.columns, encoded, strict=True)}
        return hstack([features for features, _ in encoded], format="csr"), coverage

    def builder(self, texts: Table | Sequence[Text], device: torch.device | str = "cpu") -> BatchBuilder:
        """Return a builder of batches of these texts; their labels are unknown."""
        table = self.checked(texts)
        return self._builder(table, self.tokenizer.encode(table.texts), device)

    def read(
        self, texts: Table | Sequence[Text], device: torch.device | str = "cpu"
    ) -> tuple[BatchBuilder, list[list[str]]]:
        """Return a builder as `builder` does, and each text's tokens after truncation in their original spelling."""
        table = self.checked(texts)
        tokens, words = self.tokenizer.read(table.texts)
        builder = self._builder(table, tokens, device)
        return builder, [[words[i] for i in builder.spans.positions(row).tolist()] for row in range(len(builder))]

    def _builder(self, table: Table, tokens: Tokens, device: torch.device | str) -> BatchBuilder:
        (features, _), labels = self.encode_columns(table), self.task.unlabelled(len(table))
        return BatchBuilder(tokens.ids, tokens.offsets, labels, self.truncation, device, tokens.bounds, features)


def warn_of_unseen(unseen: Mapping[str, int], cells: int) -> None:
    """Log how many cells of each column are of categories that a model does not know."""
    for name, count in unseen.items():
        log.warning("Column %r: %s are of categories without training texts", name, f"{count:,} of {cells:,} cells")


def warn_of_missing(columns: Sequence[str]) -> None:
    """Log which of the columns that a model reads beside the texts are absent."""
    if columns:
        log.warning(
            "The model also reads %s, which are missing and count as empty: give a table with them",
            format_list(columns, plain=True),
        )
