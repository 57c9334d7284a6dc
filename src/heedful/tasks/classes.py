"""The classes of texts: how many texts each has, and which are too rare for an interval."""

import numpy as np

from heedful.base.formatting import SPLIT_NAMES, format_count, format_list, format_names
from heedful.tasks.task import Task

MIN_TEXTS = 5  # minimum number of texts of each class for an interval of a score that is a mean over classes


def describe_rare_classes(
    task: Task, targets: np.ndarray, groups: np.ndarray | None = None, split: str = "test"
) -> str:
    """Name the classes with fewer than MIN_TEXTS texts (or groups), such as "REFUND: 1 test text"; "" if all have more.

    Scores that are means over classes then have no interval.
    """
    noun = f"{SPLIT_NAMES[split]} text"
    texts, units = (task.class_counts(targets, each) for each in (None, groups))
    rare = [
        f"{format_list([name], plain=True)}: {format_count(count, noun)}"
        + (f" in {format_count(unit, 'group')}" if unit < count else "")
        for name, count, unit in zip(task.classes, texts.tolist(), units.tolist(), strict=True)
        if unit < MIN_TEXTS
    ]
    return format_names(rare)
