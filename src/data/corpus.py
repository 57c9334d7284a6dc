"""The corpus of a source: texts with their classes, before tokenization; the texts stay on disk."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FACTS = "facts.json"


class Texts(Sequence[str]):
    """The cells of a column of strings, which is mapped into memory, at the positions `rows`."""

    def __init__(self, column: pa.ChunkedArray, rows: np.ndarray) -> None:
        self._column, self._rows = column, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self._column[row].as_py() for row in self._rows[i].tolist()]
        return self._column[int(self._rows[i])].as_py()

    def take(self, rows: np.ndarray) -> "Texts":
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
        class_names = tuple(json.loads((folder / FACTS).read_text())["class_names"])
        splits: dict[str, Any] = dict.fromkeys(("train", "val", "test"))
        for file in folder.glob("*.arrow"):
            table = pa.ipc.open_stream(pa.memory_map(str(file))).read_all()
            columns = dict(zip(table.column_names, table.columns, strict=True))
            labels = pc.index_in(columns["label"], pa.array(class_names, pa.large_string()))
            groups = columns.get("group")
            splits[file.stem] = Split(
                Texts(columns["text"], np.arange(len(table))),
                labels.to_numpy().astype(np.int64),
                None if groups is None else np.unique(groups.to_numpy(), return_inverse=True)[1],
                columns.get("rationale"),
            )
        return cls(**splits, class_names=class_names)
