"""Warnings about the labels of a run: classes that look alike, texts with several labels, and rare classes."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from heedful.base.formatting import format_count, format_list, format_repr
from heedful.data.corpus import Corpus
from heedful.data.table import join_parts
from heedful.tasks.labels import describe_look_alikes
from heedful.tasks.task import MIN_TEXTS

if TYPE_CHECKING:
    from heedful.data.source import Source

log = logging.getLogger(__name__)


def warn_of_labels(data: "Source", corpus: Corpus, conflicts: Sequence[Sequence[tuple[str, int]]]) -> None:
    """Warn of what a model cannot learn, and of scores that will have no interval.

    Args:
        conflicts: texts with several labels: their first row (split of the source, number) with each label.
    """
    are_set = data.reading.names is not None
    counts = {split: data.count_classes(split) for split in data.sizes}
    by_class = dict(zip(data.class_names, map(sum, zip(*counts.values(), strict=True)), strict=True))
    if warning := describe_look_alikes(by_class, are_set):
        log.warning(warning)
    if conflicts:
        log.warning(
            "%s with different labels in several rows: %s. A model predicts the same for equal texts; correct the "
            "labels that are wrong",
            format_count(data.conflicts, "text"),
            "; ".join(_describe_conflict(data, corpus, rows) for rows in conflicts),
        )
    classes = zip(data.class_names, counts["train"], counts.get("val", counts["train"]), strict=True)
    absent = [name for name, in_train, held_out in classes if in_train and not held_out]
    if absent and data.tokenized("val").origin == "train":
        log.warning(
            "Some classes have too few rows: %s. The val split has no texts of these classes, and its scores say "
            "nothing of them; add rows, or provide each split as a file (data.val_path, data.test_path)",
            format_list(absent),
        )
    test = data.sizes.get("test")
    if test and (rare := data.task.describe_rare_classes(data.tokenized("test").labels, data.groups("test"))):
        log.warning(
            "Some classes have fewer than %d test texts: %s. Scores that are means over classes, such as macro F1 "
            "and AUROC, will have no interval, and AUROC no value if a class has no text: add rows of these classes, "
            "or provide a file with more of them (data.test_path)",
            MIN_TEXTS,
            rare,
        )


def _describe_conflict(data: "Source", corpus: Corpus, rows: Sequence[tuple[str, int]]) -> str:
    """Describe a text by its label in each row: 'good': 'pos' (a.csv: line 2) and 'neg' (a.csv: line 9)."""
    labels = list[str]()
    for name, row in rows:
        split = corpus.of(name)
        (label,) = corpus.task.decode(split.labels[[row]])
        (file,), (place,), *_ = data.origins_of_rows(name, np.array([row])).values()
        labels.append(f"{format_repr(label)} ({file}: {data.opener.unit(name)} {place})")
    return f"{format_repr(join_parts(split.texts[row]))}: {' and '.join(labels)}"
