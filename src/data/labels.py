"""Labels: their canonical form, the option `labels`, and the classes of a data set."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from src.errors import UserError
from src.formatting import format_list, format_repr

MAX_FRACTIONAL_CLASSES = 100  # maximum number of classes if all labels are numbers, but not all are written as integers
WHOLE = re.compile(r"[-+]?\d+")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


def canonical(label: str) -> str:
    """Return the one form of a label that is written differently in different formats: 1.0 is 1, and True is true."""
    label = label.strip()
    if label.lower() in ("true", "false"):
        return label.lower()
    return label.removesuffix(".0") if WHOLE.fullmatch(label.removesuffix(".0")) else label


def parse_labels(labels: Sequence[Any] | Mapping[Any, str] | None) -> dict[str, str] | None:
    """Return the class of each allowed label, in the order of the classes; None stays None.

    Args:
        labels: the classes; or the class of each label, which the data may also contain instead of the label.

    Raises:
        ValueError: if there are fewer than two classes, if a class is listed twice, or if YAML read a name as a boolean
            or null.
    """
    if labels is None:
        return None
    listed = [*labels, *labels.values()] if isinstance(labels, Mapping) else list(labels)
    misread = [value for value in listed if value is None or isinstance(value, bool)]
    if misread and (None in misread or not all(isinstance(value, bool) for value in listed)):
        raise ValueError(
            f"labels={list(map(str, listed))}: YAML reads words such as NO, on and null as booleans or nothing; put "
            "the name in quotes"
        )
    names = {canonical(str(name)): canonical(str(name)) for name in listed}
    if isinstance(labels, Mapping):
        names |= {canonical(str(label)): canonical(str(name)) for label, name in labels.items()}
    elif len(names) < len(listed):
        raise ValueError(f"labels={list(map(str, listed))}: a class is listed twice")
    if len(class_order(names)) < 2:
        raise ValueError(f"labels={list(map(str, listed))}: must be two or more classes")
    return names


def class_order(names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the classes of a result of `parse_labels`, in order."""
    return tuple(dict.fromkeys(names.values()))


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
