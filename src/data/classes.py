"""The classes of a data set: their names, their order, and the class index of each label."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from src.data.examples import Examples
from src.data.rows import format_places
from src.errors import UserError
from src.formatting import format_list, format_repr
from src.misspellings import suggestion

MAX_FRACTIONAL_CLASSES = 100  # maximum number of classes if all labels are numbers, but not all are written as integers
WHOLE = re.compile(r"[-+]?\d+")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


def distinct_classes(labels: Sequence[str], source: str) -> tuple[str, ...]:
    """Return the distinct labels, in numerical order if all are numbers, otherwise in alphabetical order.

    Raises:
        UserError: if all labels are equal; or if all are numbers, some are written with a decimal point or an exponent,
            and more than `MAX_FRACTIONAL_CLASSES` are distinct: such labels are measurements, not classes.
    """
    names = sorted(set(labels))  # equal numbers, such as 1 and 01, stay in alphabetical order
    if len(names) < 2:
        raise UserError(
            f"{source}: every row has the label {format_repr(names[0])}; training needs at least two classes"
        )
    if all(map(WHOLE.fullmatch, names)):
        return tuple(sorted(names, key=int))
    if all(map(NUMBER.fullmatch, names)):
        names.sort(key=float)
        if len(names) > MAX_FRACTIONAL_CLASSES:
            raise UserError(
                f"{source}: the labels are {len(names):,} different numbers, {format_list(names, plain=True)}. Heed "
                "does not support regression. Name a column of classes with data.label, or group the numbers "
                "into a few classes"
            )
    return tuple(names)


def encode_labels(examples: Examples, class_names: Sequence[str]) -> np.ndarray:
    """Return the class index of each row: m int64.

    Raises:
        UserError: if a label is not in `class_names`.
    """
    number = {name: i for i, name in enumerate(class_names)}
    if unknown := set(examples.labels) - set(number):
        bad = [i for i, name in enumerate(examples.labels) if name in unknown]
        name = examples.labels[bad[0]]
        places = format_places(examples.unit, [examples.places[i] for i in bad])
        raise UserError(
            f"{examples.source}: {places}: label {format_repr(name)} is not among the classes "
            f"{format_list(class_names, plain=True)}{suggestion(name, class_names)}. Correct the label, or "
            "list all classes in data.labels"
        )
    return np.fromiter(map(number.__getitem__, examples.labels), dtype=np.int64, count=len(examples.labels))


def parse_class_names(labels: Sequence[Any] | None) -> tuple[str, ...] | None:
    """Convert the option `labels` to class names; None stays None.

    Raises:
        ValueError: if there are fewer than two names, or if a name occurs twice.
    """
    if labels is None:
        return None
    names = tuple(str(name) for name in labels)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"labels={list(names)}: must be two or more different classes")
    return names
