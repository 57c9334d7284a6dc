"""The corpus of a source: texts with their classes, before tokenization; the texts stay on disk."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FACTS = "facts.json"


class Texts(Sequence[str]):
    """The cells of a column of strings, which is mapped into memory.

    Args:
        rows: the rows of the column, in order; None means all rows.
    """

    def __init__(self, column: pa.ChunkedArray, rows: np.ndarray | None = None) -> None:
        self._column = column
        self._rows = np.arange(len(column)) if rows is None else rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self._column[row].as_py() for row in self._rows[i].tolist()]
        return str(self._column[int(self._rows[i])].as_py())

    def take(self, rows: np.ndarray) -> "Texts":
        """Return the texts at these positions."""
        return Texts(self._column, self._rows[rows])


@dataclass(frozen=True)
class Split:
    """The texts of one split, and the class of each text."""

    texts: Texts  # n
    labels: np.ndarray  # n int64, indices of `Corpus.class_names`
    groups: np.ndarray | None = None  # n int64; rows of the same group stay together when rows are held out
    rationales: pa.ChunkedArray | None = None  # n lists of the [start, end] of the characters marked as evidence


@dataclass(frozen=True)
class Corpus:
    """The splits of a source. If `val` or `test` is None, the data module holds out rows of `train` for it."""

    train: Split
    val: Split | None
    test: Split | None
    class_names: tuple[str, ...]

    @classmethod
    def load(cls, folder: Path) -> "Corpus":
        """Return the corpus in a folder of the cache, which `Source` has written."""
        names = tuple(json.loads((folder / FACTS).read_text())["class_names"])
        files = {split: folder / f"{split}.arrow" for split in ("train", "val", "test")}
        splits = {split: _load_split(file, names) for split, file in files.items() if file.exists()}
        return cls(splits["train"], splits.get("val"), splits.get("test"), names)


def _load_split(file: Path, class_names: Sequence[str]) -> Split:
    table = pa.ipc.open_stream(pa.memory_map(str(file))).read_all()
    columns = dict(zip(table.column_names, table.columns, strict=True))
    labels = pc.index_in(columns["label"], pa.array(class_names, pa.large_string()))
    if labels.null_count or not len(labels):
        raise ValueError(f"{file.name} has other classes, or none")
    groups = columns.get("group")
    return Split(
        Texts(columns["text"]),
        labels.to_numpy().astype(np.int64),
        None if groups is None else np.unique(groups.to_numpy(), return_inverse=True)[1],
        columns.get("rationale"),
    )
