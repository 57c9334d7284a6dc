"""A table that describes a run's data: classes, lengths, truncation, unknown tokens and duplicates in each split."""

from collections.abc import Callable
from functools import partial

from src.formatting import UNKNOWN, format_known
from src.report.section import Lines, Section, Table
from src.report.words import clean_text
from src.run_result import Data, SplitSummary

MAX_CLASSES = 10  # maximum number of classes to list; if there are more, the most frequent are listed
NOTED_SHARE = 0.05  # a note is added if at least this share of all tokens is cut

Row = tuple[str, list[str]]  # the name of a value, and the value in each split


def data_rows(data: Data) -> list[Row]:
    """Return the rows of the table, with a cell for each split; [] if there are no splits."""
    splits = list(data.splits.values())

    def row(name: str, cell: Callable[[SplitSummary], str]) -> Row:
        return name, [cell(split) for split in splits]

    names = _frequent_classes(data)
    rows = [
        row("texts", lambda split: _count(split.texts)),
        *(row(clean_text(name), partial(_class_cell, names=[name])) for name in names),
    ]
    if others := [name for name in data.class_names if name not in names]:
        rows.append(row(f"{len(others):,} other classes", partial(_class_cell, names=others)))
    majority = clean_text(data.majority_class or UNKNOWN)
    rows += [
        row(f"accuracy of always predicting “{majority}”", lambda split: format_known(split.majority_accuracy)),
        *(
            row(f"tokens per text, {name}", partial(_length_cell, quantile=name))
            for name in dict.fromkeys(name for split in splits for name in split.lengths)
        ),
        row(f"texts longer than {_count(data.max_length)} tokens", lambda split: _count(split.cut_texts)),
        row("tokens cut by data.max_length", lambda split: _percent(split.cut_share)),
        row("unknown tokens", lambda split: _percent(split.unknown_share)),
    ]
    if data.vectors is not None:
        rows.append(row("tokens with a GloVe vector", lambda split: _percent(split.vector_share)))
    rows += [
        row("duplicates of an earlier text in the split", lambda split: _count(split.duplicates)),
        row("duplicates of a training text", lambda split: _count(split.in_train)),
    ]
    return rows if splits else []


def data_notes(data: Data) -> list[str]:
    """Return sentences about cut texts, and about validation and test texts that are also training texts."""
    notes = []
    splits = data.splits.values()
    tokens = sum(split.tokens or 0 for split in splits)
    cut_share = sum((split.cut_share or 0.0) * (split.tokens or 0) for split in splits) / max(tokens, 1)
    if cut_share >= NOTED_SHARE:
        cut, texts = sum(split.cut_texts or 0 for split in splits), sum(split.texts or 0 for split in splits)
        notes.append(
            f"{cut:,} of {texts:,} texts are longer than {_count(data.max_length)} tokens; {_percent(cut_share)} of "
            "the tokens are not read (data.max_length, data.keep)"
        )
    for name, split in data.splits.items():
        if split.in_train:
            notes.append(
                f"{name}: {split.in_train:,} of {_count(split.texts)} texts are also in the training split, so the "
                "scores on this split may be too high"
            )
    return notes


def data_section(data: Data) -> Section | None:
    """Return the section with the table and the sentences of `data_notes`; None if no split is described."""
    if not data.splits:
        return None
    rows = [[name, *cells] for name, cells in data_rows(data)]
    table = Table(["data", *map(clean_text, data.splits)], rows)
    note = "The table describes the texts before truncation. Duplicates agree in every character."
    return Section("Data", [table, *(Lines([sentence]) for sentence in data_notes(data))], note)


def _frequent_classes(data: Data) -> list[str]:
    """Return the classes to list, in the order of `class_names`: all, or the 10 most frequent if there are more."""
    if len(data.class_names) <= MAX_CLASSES:
        return list(data.class_names)
    total = {name: sum(split.class_counts.get(name, 0) for split in data.splits.values()) for name in data.class_names}
    frequent = set(sorted(total, key=lambda name: -total[name])[:MAX_CLASSES])
    return [name for name in data.class_names if name in frequent]


def _class_cell(split: SplitSummary, names: list[str]) -> str:
    count = sum(split.class_counts.get(name, 0) for name in names)
    return f"{count:,} ({_percent(count / split.texts)})" if split.texts else f"{count:,}"


def _length_cell(split: SplitSummary, quantile: str) -> str:
    return _count(split.lengths.get(quantile))


def _count(value: int | None) -> str:
    return format_known(value, "{:,}")


def _percent(share: float | None) -> str:
    """Format a share in per cent with one decimal; a positive share below 0.05 % becomes "<0.1 %"."""
    return "<0.1 %" if share is not None and 0 < share < 0.0005 else format_known(share, "{:.1%}").replace("%", " %")
