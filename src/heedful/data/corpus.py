"""The texts of a source with their classes, and their tokens, from which batches are built; both stay on disk."""

import json
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from heedful.data.roles import PARTS
from heedful.data.table import Text
from heedful.data.tokenizer import Tokenizer, TokenizerBuilder, text_blocks
from heedful.data.trained_texts import hash_tokens
from heedful.tasks.task import Task

log = logging.getLogger(__name__)
SPLITS = ("train", "val", "test")
FACTS = "facts.json"
LISTED_CONFLICTS = 3  # maximum number of texts with several classes that a message shows


class Texts(Sequence[Text]):
    """The texts, or pairs, in one or two columns of strings, which are mapped into memory, at the positions `rows`."""

    def __init__(self, columns: Sequence[pa.ChunkedArray], rows: np.ndarray) -> None:
        self._columns, self._rows = columns, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: Any) -> Any:
        rows = self._rows[i].tolist()
        return [self._at(row) for row in rows] if isinstance(i, slice) else self._at(rows)

    def _at(self, row: int) -> Any:
        parts = tuple(column[row].as_py() for column in self._columns)
        return parts if len(parts) > 1 else parts[0]

    def take(self, rows: np.ndarray) -> "Texts":
        return Texts(self._columns, self._rows[rows])


@dataclass(frozen=True)
class Split:
    """The texts of one split, and the class of each text."""

    texts: Texts  # n
    labels: np.ndarray  # n targets of `Corpus.task`
    groups: np.ndarray | None = None  # n int64; rows of the same group stay together when rows are held out
    digests: np.ndarray | None = None  # n int64, hashes of the texts; duplicates have equal hashes
    columns: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)  # file, place, read and kept
    weights: np.ndarray | None = None  # n float64, at least 0; by which training rows are drawn

    def cells(self, name: str, rows: np.ndarray) -> list[Any]:
        """Return the cells of a further column in some rows."""
        index = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows, np.int64))])
        cells: list[Any] = self.columns[name].take(index).to_pylist()  # of a NumPy array, it would import pandas
        return cells


@dataclass(frozen=True)
class Corpus:
    """The splits of a source. Unless `train` is None, rows of it are held out for `val` or `test` that is None."""

    train: Split | None
    val: Split | None
    test: Split | None
    task: Task
    warnings: Sequence[str] = ()  # of rows that were left out, or count as wrong

    @classmethod
    def load(cls, folder: Path, task: Task) -> "Corpus":
        """Return the corpus in a folder of the cache, which a `Reading` has written for this task."""
        facts = json.loads((folder / FACTS).read_text())
        task = task.with_classes(facts["class_names"])
        splits: dict[str, Any] = dict.fromkeys(SPLITS)
        for file in folder.glob("*.arrow"):
            table = pa.ipc.open_stream(pa.memory_map(str(file))).read_all()
            columns = dict(zip(table.column_names, table.columns, strict=True))
            cells = columns["label"].combine_chunks()
            labels = cells.flatten().dictionary_encode()
            numbers, sizes = map(np.from_dlpack, (labels.indices, cells.value_lengths()))  # `to_numpy` imports pandas
            splits[file.stem] = Split(
                Texts([columns[name] for name in PARTS if name in columns], np.arange(len(table))),
                task.encode(labels.dictionary.to_pylist(), numbers, sizes),
                _number_groups(np.array(columns["group"].to_pylist())) if "group" in columns else None,
                np.from_dlpack(columns["digest"].combine_chunks()),
                columns,
                np.from_dlpack(columns["weight"].combine_chunks()) if "weight" in columns else None,
            )
        return cls(**splits, task=task, warnings=facts["warnings"])

    def of(self, split: str) -> Split:
        """Return a split that the source has, by its name."""
        found: Split = getattr(self, split)
        return found

    def conflicts(self) -> list[list[tuple[str, int]]]:
        """Return the first row (split, number) with each class, of every text that has several classes."""
        by_name = {name: split for name in SPLITS if (split := getattr(self, name)) is not None}
        digests, counts = np.unique(np.concatenate([split.digests for split in by_name.values()]), return_counts=True)
        first = defaultdict[int, dict[bytes, tuple[str, int]]](dict)  # by text, then by label
        for name, split in by_name.items():
            for row in np.flatnonzero(np.isin(split.digests, digests[counts > 1])).tolist():
                first[int(split.digests[row])].setdefault(split.labels[row].tobytes(), (name, row))
        return [list(rows.values()) for rows in first.values() if len(rows) > 1]


def _number_groups(names: np.ndarray) -> np.ndarray:
    """Return the number of each row's group, n int64; a row without a name is a group of its own."""
    numbers, is_missing = np.unique(names, return_inverse=True)[1], names == ""
    numbers[is_missing] = len(names) + np.arange(is_missing.sum())
    return numbers


@dataclass(frozen=True)
class TokenizedSplit:
    """One split, tokenized but not truncated, so that one folder of the cache serves every `max_length` and `keep`."""

    origin: str  # the source's split that contains the texts: train, val or test
    tokens: np.ndarray  # flat int32
    offsets: np.ndarray  # n+1 int64, offsets in tokens
    labels: np.ndarray  # n targets of the task
    rows: np.ndarray  # n int64, the row of each text in the split `origin` of the source
    digests: np.ndarray  # n int64, hashes of the texts; duplicates have equal hashes
    token_digests: np.ndarray  # n int64, hashes of the tokens of the texts
    counts: np.ndarray  # int64, number of occurrences of each token of the vocabulary
    bounds: np.ndarray | None = None  # as in `Tokens`


@dataclass(frozen=True)
class TokenizedCorpus:
    """The tokenizer, and all tokenized splits without their texts."""

    splits: dict[str, TokenizedSplit]  # train, val and test, or the only split of an evaluation
    tokenizer: str  # JSON
    conflicts: int  # number of texts of the source that have several classes
    examples: list[list[tuple[str, int]]]  # the first such texts: their first row (split, number) with each class

    @classmethod
    def load(cls, folder: Path) -> "TokenizedCorpus":
        """Map the arrays in a folder of the cache into memory; changes to them are not written."""
        facts = json.loads((folder / FACTS).read_text())
        names = [field.name for field in fields(TokenizedSplit) if field.name != "origin"]
        splits = {}
        for split, origin in facts["origins"].items():
            files = {name: folder / f"{split}.{name}.npy" for name in names}
            if not files["bounds"].exists():
                del files["bounds"]
            arrays = {name: np.load(file, mmap_mode="c") for name, file in files.items()}
            splits[split] = TokenizedSplit(origin, **arrays)
        return cls(splits, *(facts[name] for name in ("tokenizer", "conflicts", "examples")))


def tokenize(
    corpus: Corpus,
    rows_by_split: Mapping[str, tuple[str, np.ndarray]],
    builder: TokenizerBuilder,
    folder: Path,
    progress: bool,
) -> None:
    """Train a tokenizer on the training texts, tokenize all texts with it, and write the result into a folder.

    Args:
        rows_by_split: the result of `heedful.data.splits.divide`.
    """
    texts = {split: getattr(corpus, origin).texts.take(rows) for split, (origin, rows) in rows_by_split.items()}
    tokenizer = builder.train(texts.get("train", ()), progress)
    for split, (origin, rows) in rows_by_split.items():
        arrays = _encode(texts[split], tokenizer, folder / f"{split}.tokens.npy", progress)
        source = getattr(corpus, origin)
        arrays |= {"labels": source.labels[rows], "digests": source.digests[rows], "rows": rows}
        for name, array in arrays.items():
            np.save(folder / f"{split}.{name}.npy", array)
    origins = {split: origin for split, (origin, _) in rows_by_split.items()}
    facts: dict[str, Any] = {"tokenizer": tokenizer.to_json(), "origins": origins}
    conflicts = corpus.conflicts()
    facts |= {"conflicts": len(conflicts), "examples": conflicts[:LISTED_CONFLICTS]}
    (folder / FACTS).write_text(json.dumps(facts))
    count, words = sum(map(len, texts.values())), len(tokenizer.vocabulary)
    log.info("Tokenized %s texts; the vocabulary has %s entries", f"{count:,}", f"{words:,}")


def _encode(texts: Texts, tokenizer: Tokenizer, path: Path, progress: bool) -> dict[str, np.ndarray]:
    """Write the tokens of texts to a file; return the offsets, hashes and counts, as in `TokenizedSplit`."""
    counts = np.zeros(len(tokenizer.vocabulary), dtype=np.int64)
    lengths, bounds, digests = [np.zeros(1, dtype=np.int64)], list[np.ndarray](), [np.zeros(0, dtype=np.int64)]
    with path.open("xb") as file:
        _write_header(file, 0)
        for block in text_blocks(texts, "Tokenized", progress):
            tokens = tokenizer.encode(block)
            file.write(tokens.ids.tobytes())
            counts += np.bincount(tokens.ids, minlength=len(counts))
            lengths.append(np.diff(tokens.offsets))
            digests.append(hash_tokens(tokens, block, tokenizer.unknown_id))
            bounds += [] if tokens.bounds is None else [tokens.bounds]
        offsets = np.concatenate(lengths).cumsum()
        _write_header(file, int(offsets[-1]))
    arrays = {"offsets": offsets, "counts": counts, "token_digests": np.concatenate(digests)}
    return arrays | ({"bounds": np.concatenate(bounds)} if bounds else {})


def _write_header(file: IO[bytes], length: int) -> None:
    """Write the header of a flat .npy file of int32 at its start; NumPy reserves space for a larger length."""
    file.seek(0)
    header = {"descr": np.dtype(np.int32).str, "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, header)
