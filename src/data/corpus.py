"""The corpus that a source returns: texts with their classes, before tokenization."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from src.data.classes import encode_labels
from src.data.examples import Examples
from src.data.spool import StoredTexts
from src.errors import UserError
from src.formatting import LISTED_VALUES, format_count, format_list, format_repr


@dataclass(frozen=True)
class Split:
    """The texts of one split, and the class of each text."""

    texts: Sequence[str]  # n
    labels: np.ndarray  # n int64, indices of `Corpus.class_names`
    groups: np.ndarray | None = None  # n int64; rows of the same group stay together when rows are held out


@dataclass(frozen=True)
class Corpus:
    """The splits of a source. If `val` or `test` is None, the data module holds out rows of `train` for it."""

    train: Split
    val: Split | None
    test: Split | None
    class_names: tuple[str, ...]

    @classmethod
    def from_examples(cls, examples: Mapping[str, Examples], class_names: tuple[str, ...]) -> "Corpus":
        """Return the corpus of the examples of "train" and, optionally, "val" and "test".

        Raises:
            UserError: if a label is not in `class_names`.
        """
        splits = {name: _to_split(rows, class_names) for name, rows in examples.items()}
        return cls(splits["train"], splits.get("val"), splits.get("test"), class_names)


def _to_split(examples: Examples, class_names: tuple[str, ...]) -> Split:
    groups = np.unique(examples.groups, return_inverse=True)[1] if examples.groups else None
    return Split(examples.texts, encode_labels(examples, class_names), groups)


def validate_corpus(corpus: Any, source: str, folder: Path) -> Corpus:
    """Check a corpus; return it with texts in temporary files in `folder`, and with labels as int64 arrays.

    Args:
        source: name of the method that returned `corpus`, for messages.

    Raises:
        UserError: if a value has the wrong type, length or range; the message describes the value and states the rule.
    """
    if not isinstance(corpus, Corpus):
        raise UserError(f"{source} returned {_describe(corpus)}; it must return a Corpus (src.data.corpus)")
    names = corpus.class_names
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise UserError(f"{source}: class_names is {_describe(names)}; it must be a tuple of str")
    if len(names) < 2 or len(set(names)) < len(names):
        raise UserError(f"{source}: class_names is {_describe(names)}; it must have two or more different names")
    splits = {
        name: None
        if split is None and name != "train"
        else _validate_split(split, len(names), f"{source}: {name}", folder)
        for name, split in (("train", corpus.train), ("val", corpus.val), ("test", corpus.test))
    }
    return Corpus(**splits, class_names=tuple(names))  # type: ignore[arg-type]


def _validate_split(split: Any, num_classes: int, place: str, folder: Path) -> Split:
    if not isinstance(split, Split):
        raise UserError(f"{place} is {_describe(split)}; it must be a Split (src.data.corpus)")
    texts = split.texts if isinstance(split.texts, StoredTexts) else _store(split.texts, place, folder)
    labels = _class_indices(split.labels, len(texts), f"{place}.labels")
    if len(outside := np.flatnonzero((labels < 0) | (labels >= num_classes))):
        raise UserError(
            f"{place}.labels: {format_count(len(outside), 'label')} out of range; the first is labels[{outside[0]}] = "
            f"{labels[outside[0]]}; with {num_classes} class_names, labels must be 0 to {num_classes - 1}"
        )
    groups = None if split.groups is None else np.asarray(split.groups)
    if groups is not None and groups.shape != labels.shape:
        raise UserError(f"{place}.groups is {_describe(groups)}; it must be None or an array of {len(texts):,} numbers")
    return Split(texts, labels.astype(np.int64), groups)


def _store(texts: Any, place: str, folder: Path) -> StoredTexts:
    """Check the texts of an iterable, and store them in a temporary file."""
    requirement = "texts must be a list of str"
    if isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable):
        raise UserError(f"{place}.texts is {_describe(texts)}; {requirement}")

    def valid_texts() -> Iterator[str]:
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise UserError(f"{place}.texts[{i}] is {_describe(text)}; {requirement}")
            try:
                text.encode()
            except UnicodeEncodeError:
                raise UserError(
                    f"{place}.texts[{i}] contains an unpaired surrogate, which is not a character"
                ) from None
            yield text

    stored = StoredTexts(folder, valid_texts())
    if not stored:
        raise UserError(f"{place}.texts is empty; {requirement} with at least one text")
    return stored


def _class_indices(values: Any, length: int, place: str) -> np.ndarray:
    """Return an array, list or tensor of labels as an array; raise a UserError unless it has `length` integers."""
    array = np.empty(0)
    if not isinstance(values, list | tuple) or all(isinstance(value, Integral) for value in values):
        with suppress(TypeError, ValueError, RuntimeError):  # a tensor on another device, for example
            array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise UserError(
            f"{place} is {_describe(values)}; it must be a one-dimensional array of integers, the indices of the "
            "classes in class_names"
        )
    if len(array) != length:
        raise UserError(f"{place} has {len(array):,} values and texts has {length:,}; each text needs one label")
    return array


def _describe(value: Any) -> str:
    """Describe a value by its type, shape and first items, for messages."""
    type_name = type(value).__name__
    if isinstance(value, np.ndarray):
        return (
            f"an array of {value.dtype} of shape {value.shape}, {format_list(value.ravel()[:LISTED_VALUES].tolist())}"
        )
    if isinstance(value, list | tuple):
        return f"a {type_name} of {len(value):,}: {format_list(value)}"
    return f"a value of type {type_name}, {format_repr(value)}"
