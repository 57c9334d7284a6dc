"""The texts of a source with their classes, and their tokens, from which batches are built; both stay on disk."""

import hashlib
import json
import logging
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, compress, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from heedful.base.errors import UserError
from heedful.base.formatting import format_list, format_repr
from heedful.config.mistakes import did_you_mean
from heedful.data.table import Text, is_blank, join_parts
from heedful.data.tables import Rows, format_places
from heedful.data.tokenizer import Tokenizer, TokenizerBuilder, text_blocks
from heedful.data.trained_texts import hash_tokens
from heedful.tasks.labels import canonical
from heedful.tasks.task import Task

log = logging.getLogger(__name__)
SPLITS = ("train", "val", "test")
FACTS = "facts.json"
TEXT = pa.large_string()
# types of the columns: the number of a row's file among those of its split, its place there, and the text's hash
TYPES = {"text": TEXT, "second": TEXT, "label": pa.list_(TEXT), "group": TEXT}
TYPES |= {"file": pa.int32(), "place": pa.int64(), "digest": pa.int64()}
PARTS = ("text", "second")  # columns of the text, or of the two texts of a pair
SIMILAR_LABELS = 0.8  # similarity of a misspelt label to a class
LISTED_CONFLICTS = 3  # maximum number of texts with several classes that a message shows
RENAME = "correct the key 'huggingface' of the schema's metadata, or remove it to use the numbers as classes"
READ, KEPT = "read:", "kept:"  # prefixes of the names of columns that a model reads, and of those that are copied


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

    def cells(self, name: str, rows: np.ndarray) -> list[Any]:
        """Return the cells of a further column in some rows."""
        cells: list[Any] = self.columns[name].take(rows).to_pylist()
        return cells


@dataclass(frozen=True)
class Corpus:
    """The splits of a source. Unless `train` is None, rows of it are held out for `val` or `test` that is None."""

    train: Split | None
    val: Split | None
    test: Split | None
    task: Task

    @classmethod
    def load(cls, folder: Path, task: Task) -> "Corpus":
        """Return the corpus in a folder of the cache, which `write_split` and `Source` have written for this task."""
        task = task.with_classes(json.loads((folder / FACTS).read_text())["class_names"])
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
                _number_groups(columns["group"].to_numpy()) if "group" in columns else None,
                columns["digest"].to_numpy(),
                columns,
            )
        return cls(**splits, task=task)

    def conflicts(self) -> list[list[tuple[str, int]]]:
        """Return the first row (split, number) with each class, of every text that has several classes."""
        own = {name: split for name in SPLITS if (split := getattr(self, name)) is not None}
        digests, counts = np.unique(np.concatenate([split.digests for split in own.values()]), return_counts=True)
        first = defaultdict[int, dict[bytes, tuple[str, int]]](dict)  # by text, then by label
        for name, split in own.items():
            for row in np.flatnonzero(np.isin(split.digests, digests[counts > 1])).tolist():
                first[int(split.digests[row])].setdefault(split.labels[row].tobytes(), (name, row))
        return [list(rows.values()) for rows in first.values() if len(rows) > 1]


def _number_groups(names: np.ndarray) -> np.ndarray:
    """Return the number of each row's group, n int64; a row without a name is a group of its own."""
    numbers, is_missing = np.unique(names, return_inverse=True)[1], names == ""
    numbers[is_missing] = len(names) + np.arange(is_missing.sum())
    return numbers


def write_split(
    folder: Path,
    task: Task,
    columns: Mapping[str, str],
    read: Sequence[str],
    kept: Sequence[str],
    on_bad_rows: str,
    unknown_classes: str | None,
    split: str,
    chunks: Iterable[Rows],
    names: Mapping[str, str] | None,
) -> tuple[list[str], set[str]]:
    """Write the valid rows of a split; return the named classes of the data set, if it has any, and those found.

    Args:
        columns: the names that text, second (of a pair), label and group have in the rows.
        read, kept: the names of further columns, of which the former are spelled and the latter stay as they are.
        on_bad_rows: error or drop: how to treat rows without a text or label.
        unknown_classes: error, drop or wrong (keep): how an evaluation treats rows whose class the model does not have.
        names: the class of each allowed label; None allows all labels.
    """
    # places by source and wrong label, which is empty if a cell is missing
    faults = defaultdict[tuple[str, str], list[int]](list)
    keeps = unknown_classes == "wrong"
    own, found, files = list[str](), set[str](), dict[str, int]()

    def is_allowed(label: str) -> bool:
        return not task.fault(label) and (names is None or label in names)

    schema = pa.schema(
        [(name, TYPES[name]) for name in (*columns, "file", "place", "digest")]
        + [(name, TEXT) for name in (*(READ + name for name in read), *(KEPT + name for name in kept))]
    )
    with pa.ipc.new_stream(str(folder / f"{split}.arrow"), schema) as stream:
        for rows in chunks:
            own = own or [canonical(name) for name in rows.class_names.get(columns["label"], ())]
            parts = {name: rows.texts(columns[name]) for name in PARTS if name in columns}
            texts: Any = list(zip(*parts.values(), strict=True)) if len(parts) > 1 else parts["text"]
            labels, is_valid = _labels(rows, columns["label"], task), list[bool]()
            for place, text, own_labels in zip(rows.places, texts, labels, strict=True):
                wrong = [label for label in own_labels if not label or not is_allowed(label)]
                is_missing = "" in wrong or is_blank(text)
                is_valid.append(not is_missing and (not wrong or (keeps and not any(map(task.fault, wrong)))))
                if wrong or is_missing:
                    faults[rows.source, "" if is_missing else wrong[0]].append(place)
            if names is not None:
                labels = [[names.get(label, label if keeps else "") for label in own_labels] for own_labels in labels]
            found.update(*compress(labels, is_valid))
            number = files.setdefault(rows.source, len(files))
            cells: dict[str, Any] = {**parts, "label": labels, "file": [number] * len(texts)}
            cells |= {"place": list(rows.places), "digest": list(map(_digest, texts))}
            cells |= {READ + name: rows.spelled(name) for name in read}
            cells |= {KEPT + name: rows.plain_texts(name) for name in kept}
            if "group" in columns:
                cells["group"] = [group or "" for group in rows.spelled(columns["group"])]
            stream.write_batch(pa.RecordBatch.from_pydict(cells, schema).filter(pa.array(is_valid)))
    classes = dict.fromkeys((names or {}).values())
    required = [repr(columns[name]) for name in (*PARTS, "label") if name in columns]
    for (source, label), places in faults.items():
        where = f"{source}: {format_places(rows.unit, places)}:"
        if reason := label and task.fault(label):
            raise UserError(f"{where} label {format_repr(label)} {reason}: correct the file")
        if label and unknown_classes in ("drop", "wrong"):
            effect = "count as wrong" if keeps else "are left out"
            log.warning("%s %s, because the model has no class %s", where, effect, format_repr(label))
            continue
        if label:
            others = (
                "; unknown_classes=wrong counts such rows as wrong, and unknown_classes=drop leaves them out"
                if unknown_classes
                else ""
            )
            raise UserError(
                f"{where} label {format_repr(label)} is not among the classes {format_list(classes, plain=True)}"
                f"{did_you_mean(label, classes, SIMILAR_LABELS)}. Correct the label, or list all labels of each class "
                f"in data.labels{others}"
            )
        missing = f"no {' or no '.join(required)}"
        if on_bad_rows == "error":
            raise UserError(f"{where} {missing}. Correct the file, or drop such rows with data.on_bad_rows=drop")
        log.warning("%s dropped, because %s is missing", where, " or ".join(required))
    if not found:
        raise UserError(f"{rows.source}: no row has {' and '.join(required)}")
    return own, found


def _digest(text: Text) -> int:
    """Return a hash of a text; the probability that two different texts have the same hash is 2**-64."""
    return int.from_bytes(
        hashlib.blake2b(join_parts(text).encode(), digest_size=8).digest(), sys.byteorder, signed=True
    )


def _labels(rows: Rows, column: str, task: Task) -> list[list[str]]:
    """Return the canonical labels of each row; a missing label is an empty string."""
    cells = [task.split(cell) for cell in rows.cells(column)]
    places = [place for place, own in zip(rows.places, cells, strict=True) for _ in own]
    spelled = replace(rows, places=places, columns={column: list(chain(*cells))}).spelled(column)
    labels = [label or "" for label in spelled]
    if own := rows.class_names.get(column):
        names = {str(i): canonical(name) for i, name in enumerate(own)}
        where, classes = f"{rows.source}: the metadata name {len(own)} classes", set(names.values())
        if len(classes) < len(own) or "" in classes:
            raise UserError(f"{where}, {format_list(own)}, but two have the same name, or one has none: {RENAME}")
        names |= {"": "", "-1": ""}  # -1 means that the class is unknown
        if wrong := [label for label in labels if label not in names]:
            place = format_places(rows.unit, [places[labels.index(wrong[0])]])
            raise UserError(f"{where}, but {place} has the class {format_repr(wrong[0])}: {RENAME}")
        labels = [names[label] for label in labels]
    rest = iter(labels)
    return [list(islice(rest, len(own))) for own in cells]


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
