"""A section that describes a run's data: classes, lengths, truncation, unknown tokens and duplicates in each split."""

from heedful.base.formatting import SPLIT_NAMES, format_count
from heedful.report.numbers import format_known, format_percent
from heedful.report.section import Lines, Section, Table
from heedful.report.words import clean_text
from heedful.runs.result import Data, SplitSummary

MAX_CLASSES = 10  # maximum number of classes to list; if there are more, the most frequent are listed
NOTED_SHARE = 0.05  # a note is added if at least this share of all tokens is cut
ENOUGH_VECTORS = 0.75  # a note is added if a smaller share of the training tokens has a vector; English: 0.83 to 0.99


def data_section(data: Data) -> Section | None:
    """Return a table with a column for each split, and sentences about cut and repeated texts; None without splits."""
    if not data.splits:
        return None
    splits = list(data.splits.values())
    total = {name: sum(split.class_counts.get(name, 0) for split in splits) for name in data.class_names}
    listed = sorted(total, key=lambda name: -total[name])[:MAX_CLASSES]
    rows = [["texts", *(_count(split.texts) for split in splits)]]
    others = [name for name in total if name not in listed]
    groups = [(clean_text(name), [name]) for name in total if name in listed]
    for title, names in (*groups, (f"{len(others):,} other classes", others)):
        counts = [sum(split.class_counts.get(name, 0) for name in names) for split in splits]
        cells = [
            f"{count:,} ({format_percent(count / split.texts)})" if split.texts else f"{count:,}"
            for count, split in zip(counts, splits, strict=True)
        ]
        rows += [[title, *cells]] if names else []
    if data.majority_class is not None:
        majority = f"accuracy of always predicting “{clean_text(data.majority_class)}”"
        rows.append([majority, *(format_known(split.majority_accuracy) for split in splits)])
    for quantile in dict.fromkeys(name for split in splits for name in split.lengths):
        rows.append([f"tokens per text, {quantile}", *(_count(split.lengths.get(quantile)) for split in splits)])
    rows += [
        [f"texts longer than {_count(data.max_length)} tokens", *(_count(split.cut_texts) for split in splits)],
        ["tokens cut by data.max_length", *(format_percent(split.cut_share) for split in splits)],
        ["unknown tokens", *(format_percent(split.unknown_share) for split in splits)],
    ]
    if data.vectors is not None:
        rows.append(["tokens with a pretrained vector", *(format_percent(split.vector_share) for split in splits)])
    for column, kind in data.columns.items():
        title = f"{clean_text(column)} ({kind})"
        rows.append([f"{title}: texts without a value", *(_count(split.missing.get(column)) for split in splits)])
        if any(split.unseen.get(column) for split in splits):
            unseen = (_count(split.unseen.get(column)) for split in splits)
            rows.append([f"{title}: texts of other categories", *unseen])
    if data.dropped is not None:
        dropped = (data.dropped if name == "train" else 0 for name in data.splits)
        rows.append(["rows dropped by data.duplicates", *map(_count, dropped)])
    rows += [
        ["duplicates of an earlier text in the split", *(_count(split.duplicates) for split in splits)],
        ["texts that the model was trained on", *(_count(split.in_train) for split in splits)],
    ]
    table = Table(["data", *map(clean_text, data.splits)], rows)
    note = (
        "The table describes the texts before truncation. Duplicates agree in every character; a text counts as one "
        "that the model was trained on if it has the same tokens."
    )
    return Section("Data", [table, *(Lines([sentence]) for sentence in _notes(data))], note)


def _notes(data: Data) -> list[str]:
    """Return sentences about what may be wrong: labels, cut texts, few vectors, held-out texts that were trained on."""
    notes = []
    if data.conflicts:
        notes.append(
            f"{format_count(data.conflicts, 'text')} with different labels in several rows; a model predicts the same "
            "for equal texts"
        )
    splits = data.splits.values()
    tokens = sum(split.tokens or 0 for split in splits)
    cut_share = sum((split.cut_share or 0.0) * (split.tokens or 0) for split in splits) / max(tokens, 1)
    if cut_share >= NOTED_SHARE:
        cut, texts = sum(split.cut_texts or 0 for split in splits), sum(split.texts or 0 for split in splits)
        notes.append(
            f"{cut:,} of {texts:,} texts are longer than {_count(data.max_length)} tokens; {format_percent(cut_share)} "
            "of the tokens are not read (data.max_length, data.keep)"
        )
    share = data.splits.get("train", SplitSummary()).vector_share
    if share is not None and share < ENOUGH_VECTORS:
        notes.append(
            f"{format_percent(share)} of the training tokens have a pretrained vector: for texts of another language, "
            "compare with model/embedding=learned, or give vectors of this language (model.embedding.path)"
        )
    remedy = " (data.duplicates=drop)" if "train" in data.splits else ""
    return notes + [trained_note(data, split) + remedy for split in data.splits if data.splits[split].in_train]


def trained_note(data: Data, split: str) -> str:
    """Return a sentence about how many texts of a validation or test split the model was trained on."""
    summary, name = data.splits.get(split, SplitSummary()), SPLIT_NAMES[split]
    if summary.in_train is None:
        return f"It is unknown how many of the {name} texts the model was trained on: its checkpoint does not say it"
    checked = f"{_count(summary.texts)} {name} texts"
    if summary.checked not in (None, summary.texts):
        checked = f"the {_count(summary.checked)} of {checked} that can be checked"
    consequence = ", so the scores of this split may be too high" if summary.in_train else ""
    return f"The model was trained on {summary.in_train:,} of {checked}{consequence}"


def _count(value: int | None) -> str:
    return format_known(value, "{:,}")
