"""What a source reads: texts with their classes, before any tokenizing."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from src.data.listing import LISTED, listed, shown
from src.errors import UserError


@dataclass(frozen=True)
class Split:
    """Texts of one split and the class of each."""

    texts: Sequence[str]  # n
    labels: np.ndarray  # n int64, into `Corpus.class_names`
    groups: np.ndarray | None = None  # n int64: rows of one group are never parted by a later split


@dataclass(frozen=True)
class Corpus:
    """All splits that a source has of its own; the data module holds the missing ones out of `train`."""

    train: Split
    val: Split | None
    test: Split | None
    class_names: tuple[str, ...]


def validated(corpus: Any, source: str) -> Corpus:
    """The same with lists of str and arrays of int64, which a source of the user's own may have given otherwise.

    Args:
        corpus: what the source returned.
        source: its name for messages.

    Raises:
        UserError: something is of another type, length or range; says what it is and what is wanted.
    """
    if not isinstance(corpus, Corpus):
        raise UserError(f"{source} returned {_described(corpus)}; it must return a Corpus (src.data.corpus)")
    names = corpus.class_names
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise UserError(f"{source}: class_names is {_described(names)}; it must be a tuple of str")
    if len(names) < 2 or len(set(names)) < len(names):
        raise UserError(f"{source}: class_names is {_described(names)}; it must have two or more different names")
    splits = {
        name: None if split is None and name != "train" else _validated_split(split, len(names), f"{source}: {name}")
        for name, split in (("train", corpus.train), ("val", corpus.val), ("test", corpus.test))
    }
    return Corpus(**splits, class_names=tuple(names))  # type: ignore[arg-type]


def _validated_split(split: Any, num_classes: int, place: str) -> Split:
    if not isinstance(split, Split):
        raise UserError(f"{place} is {_described(split)}; it must be a Split (src.data.corpus)")
    texts = _validated_texts(split.texts, place)
    labels = _class_numbers(split.labels, len(texts), f"{place}.labels")
    if len(outside := np.flatnonzero((labels < 0) | (labels >= num_classes))):
        raise UserError(
            f"{place}.labels: {len(outside):,} are out of range, first labels[{outside[0]}] = {labels[outside[0]]}; "
            f"with {num_classes} class_names they must be 0 to {num_classes - 1}"
        )
    groups = None if split.groups is None else np.asarray(split.groups)
    if groups is not None and groups.shape != labels.shape:
        raise UserError(
            f"{place}.groups is {_described(groups)}; it must be None or an array of {len(texts):,} numbers"
        )
    return Split(texts, labels.astype(np.int64), groups)


def _validated_texts(texts: Any, place: str) -> list[str]:
    wanted = "texts must be a list of str"
    if isinstance(texts, str | bytes | Mapping):
        raise UserError(f"{place}.texts is {_described(texts)}; {wanted}")
    try:
        texts = list(texts)
    except TypeError:
        raise UserError(f"{place}.texts is {_described(texts)}; {wanted}") from None
    if not texts:
        raise UserError(f"{place}.texts is empty; {wanted}, at least one")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise UserError(f"{place}.texts[{i}] is {_described(text)}; {wanted}")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UserError(f"{place}.texts[{i}] holds half a surrogate pair, which is no character") from None
    return texts


def _class_numbers(values: Any, length: int, place: str) -> np.ndarray:
    """One integer for each of `length` texts; lists and tensors are converted, numbers of other types are not."""
    array = np.empty(0)
    if not isinstance(values, list | tuple) or all(isinstance(value, Integral) for value in values):
        with suppress(TypeError, ValueError, RuntimeError):  # a tensor on another device
            array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise UserError(
            f"{place} is {_described(values)}; it must be a one-dimensional array of integers, the numbers of the "
            "classes in class_names from 0"
        )
    if len(array) != length:
        raise UserError(f"{place} has {len(array):,} values and texts has {length:,}; each text needs one")
    return array


def _described(value: Any) -> str:
    """Type, shape and first values."""
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}, {listed(value.ravel()[:LISTED].tolist())}"
    if isinstance(value, list | tuple):
        return f"a {kind} of {len(value):,}: {listed(value)}"
    return f"a value of type {kind}, {shown(value)}"
