"""The classes of texts: how many texts each has, and which are too rare for an interval."""

from collections.abc import Sequence

import numpy as np

from heedful.base.formatting import SPLIT_NAMES, format_count, format_list, format_names

MIN_TEXTS = 5  # minimum number of texts of each class for an interval of a score that is a mean over classes


def units_by_class(labels: np.ndarray, classes: int, groups: np.ndarray | None = None) -> np.ndarray:
    """Return the number of texts of each class, or of the groups with such texts, C integers."""
    if groups is not None:
        labels, _ = np.unique(np.stack([labels, groups]), axis=1)
    return np.bincount(labels, minlength=classes)


def describe_rare_classes(
    labels: np.ndarray, class_names: Sequence[str], groups: np.ndarray | None = None, split: str = "test"
) -> str:
    """Name the classes with fewer than MIN_TEXTS texts (or groups), such as "REFUND: 1 test text"; "" if all have more.

    Scores that are means over classes then have no interval.
    """
    noun = f"{SPLIT_NAMES[split]} text"
    texts, units = (units_by_class(labels, len(class_names), each) for each in (None, groups))
    rare = [
        f"{format_list([name], plain=True)}: {format_count(count, noun)}"
        + (f" in {format_count(unit, 'group')}" if unit < count else "")
        for name, count, unit in zip(class_names, texts.tolist(), units.tolist(), strict=True)
        if unit < MIN_TEXTS
    ]
    return format_names(rare)
