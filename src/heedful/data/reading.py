"""What a run reads of its rows: texts, labels, groups and further columns, which become a corpus in the cache."""

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from heedful.base.errors import UserError
from heedful.base.formatting import format_list, format_repr
from heedful.base.progress import row_progress
from heedful.config.mistakes import did_you_mean
from heedful.data.corpus import FACTS
from heedful.data.opener import Opener
from heedful.data.roles import KEPT, PARTS, READ, Roles
from heedful.data.table import Text, is_blank, join_parts
from heedful.data.tables import Rows, format_places
from heedful.runtime import ABSENT, PLAIN, Fault, NumberForm, number_of, parse_all
from heedful.tasks.labels import canonical, match_classes
from heedful.tasks.task import Task

TEXT = pa.large_string()
# types of columns that are no texts; the file is the number among those of the split, and the place is in this file
TYPES = {"label": pa.list_(TEXT), "weight": pa.float64()}
TYPES |= {"file": pa.int32(), "place": pa.int64(), "digest": pa.int64()}
SIMILAR_LABELS = 0.8  # similarity of a misspelt label to a class
RENAME = "correct the key 'huggingface' of the schema's metadata, or remove it to use the numbers as classes"
OTHER_CLASSES = "; unknown_classes=wrong counts such rows as wrong, and unknown_classes=drop leaves them out"


@dataclass(frozen=True)
class Reading:
    """How a run reads its rows.

    Args:
        names: the class of each allowed label; None allows all labels.
        on_bad_rows: error or drop: how to treat rows without a text or label.
        numbers: how texts write the numbers of columns, weights and targets.
        unknown_classes: error, drop or wrong (keep): how an evaluation treats rows whose class the model does not have.
    """

    roles: Roles
    names: Mapping[str, str] | None
    on_bad_rows: str
    numbers: NumberForm = PLAIN
    unknown_classes: str | None = None

    def of_model(self, classes: Sequence[str], unknown_classes: str) -> "Reading":
        """Return the reading of texts with these classes of a trained model."""
        names = self.names or {canonical(name): name for name in classes}
        names = dict(zip(names, match_classes(names.values(), classes), strict=True))
        names = {label: name for label, name in names.items() if name in classes}
        if classes and not names:
            raise UserError(f"data.labels: the model has only other classes, {format_list(classes, plain=True)}")
        return replace(self, roles=self.roles.unweighted, names=names or None, unknown_classes=unknown_classes)

    def fingerprint(self, opener: Opener, task: Task) -> str:
        """Return a string that changes whenever the texts or labels change: hashes of the content, and the options.

        The column of weights changes neither, but the content of data sets includes its cells.
        """
        roles, weight = self.roles, self.roles.weight
        named = (roles.text[0], ", ".join(roles.label), roles.group, None, *roles.text[1:])  # None: of earlier versions
        names = self.names if self.unknown_classes in (None, "error") else (self.names, self.unknown_classes)
        numbers = [] if self.numbers == PLAIN else [self.numbers]
        options = (named, names, self.on_bad_rows, *opener.csv[:2], *numbers)
        weights = "" if weight is None or opener.files else opener.hash_columns("train", [weight])
        return f"{opener.content(roles.content)} {options}{task.reading}{weights}"

    def write(self, folder: Path, opener: Opener, task: Task, progress: bool) -> None:
        """Write the valid rows of each split to a file, and the names of the classes to another."""

        def rows_of(split: str) -> Iterator[Rows]:
            with row_progress("Read", noun=f"rows of {Path(opener.title).name}", is_shown=progress) as advance:
                for rows in opener.rows(split, reading.roles.every):
                    yield rows
                    advance(len(rows.places))

        reading, warnings = self, list[str]()
        for split in sorted(opener.splits, key="train".__ne__):  # its labels are the classes of the others
            declared, found = reading._write_split(folder / f"{split}.arrow", rows_of(split), task, warnings)
            names = dict(reading.names or {})
            if split == "train":
                try:
                    classes = declared or task.find_classes(found)
                except ValueError as error:
                    raise UserError(f"{opener.title}: {error}") from None
                names = names or dict(zip(classes, classes, strict=True))
            elif names:
                names |= {name: name for name in sorted(found - set(names.values()))}
            reading = replace(reading, roles=self.roles.unweighted, names=names or None)
        classes = list(dict.fromkeys((reading.names or {}).values()))
        (folder / FACTS).write_text(json.dumps({"class_names": classes, "warnings": warnings}))

    def _write_split(
        self, path: Path, chunks: Iterable[Rows], task: Task, warnings: list[str]
    ) -> tuple[list[str], set[str]]:
        """Write the valid rows, and warn of others; return the named classes of the data set and those found."""
        roles, names, keeps = self.roles, self.names, self.unknown_classes == "wrong"
        # places by source and wrong label, which is empty if a cell is missing
        faults = defaultdict[tuple[str, str], list[int]](list)
        declared, found, files, count = list[str](), set[str](), dict[str, int](), 0
        texts_of = dict(zip(PARTS, roles.text, strict=False))
        optional = [role for role in ("group", "weight") if getattr(roles, role)]
        further = [*(READ + name for name in roles.read), *(KEPT + name for name in roles.kept)]
        columns = [*texts_of, "label", *optional, "file", "place", "digest", *further]
        schema = pa.schema([(name, TYPES.get(name, TEXT)) for name in columns])
        with pa.ipc.new_stream(str(path), schema) as stream:
            for rows in chunks:
                declared = declared or list(map(canonical, _class_names(rows, roles)))
                parts = {part: rows.texts(name) for part, name in texts_of.items()}
                texts: Any = list(zip(*parts.values(), strict=True)) if len(parts) > 1 else parts["text"]
                labels, is_valid = _labels(rows, roles, task, self.numbers), list[bool]()
                for place, text, own_labels in zip(rows.places, texts, labels, strict=True):
                    wrong = [
                        label
                        for label in own_labels
                        if not label or task.fault(label) or (names is not None and label not in names)
                    ]
                    is_missing = "" in wrong or is_blank(text)
                    is_valid.append(not is_missing and (not wrong or (keeps and not any(map(task.fault, wrong)))))
                    if wrong or is_missing:
                        faults[rows.source, "" if is_missing else wrong[0]].append(place)
                if names is not None:
                    labels = [[names.get(label, label if keeps else "") for label in listed] for listed in labels]
                found.update(*compress(labels, is_valid))
                count += sum(is_valid)
                cells: dict[str, Any] = {**parts, "label": labels, "place": list(rows.places)}
                cells |= {"file": [files.setdefault(rows.source, len(files))] * len(texts)}
                cells |= {"digest": list(map(_digest, texts))}
                cells |= {READ + name: rows.spelled(name, self.numbers) for name in roles.read}
                cells |= {KEPT + name: rows.plain_texts(name) for name in roles.kept}
                if roles.group:
                    cells["group"] = [group or "" for group in rows.spelled(roles.group)]
                if roles.weight:
                    cells["weight"] = _weights(rows, roles.weight, self.numbers, is_valid)
                stream.write_batch(pa.RecordBatch.from_pydict(cells, schema).filter(pa.array(is_valid)))
        for (source, label), places in faults.items():
            warnings.append(self._warning(f"{source}: {format_places(rows.unit, places)}:", label, task))
        if not count:
            raise UserError(f"{rows.source}: no row has {' and '.join(self._required)}")
        return declared, found

    @property
    def _required(self) -> list[str]:
        return list(map(repr, [*self.roles.text, ", ".join(self.roles.label)]))

    def _warning(self, where: str, label: str, task: Task) -> str:
        """Refuse rows with a wrong label, or without a text or label if it is empty, or return a warning of them."""
        classes = dict.fromkeys((self.names or {}).values())
        if reason := label and task.fault(label):
            raise UserError(f"{where} label {format_repr(label)} {reason}: correct the file")
        if label and self.unknown_classes in ("drop", "wrong"):
            effect = "count as wrong" if self.unknown_classes == "wrong" else "are left out"
            return f"{where} {effect}, because the model has no class {format_repr(label)}"
        if label:
            raise UserError(
                f"{where} label {format_repr(label)} is not among the classes {format_list(classes, plain=True)}"
                f"{did_you_mean(label, classes, SIMILAR_LABELS)}. Correct the label, or list all labels of each class "
                f"in data.labels{OTHER_CLASSES if self.unknown_classes else ''}"
            )
        if self.on_bad_rows == "error":
            missing = f"no {' or no '.join(self._required)}"
            raise UserError(f"{where} {missing}. Correct the file, or drop such rows with data.on_bad_rows=drop")
        return f"{where} dropped, because {' or '.join(self._required)} is missing"


def _digest(text: Text) -> int:
    """Return a hash of a text; the probability that two different texts have the same hash is 2**-64."""
    digest = hashlib.blake2b(join_parts(text).encode(), digest_size=8).digest()
    return int.from_bytes(digest, sys.byteorder, signed=True)


def _weights(rows: Rows, column: str, numbers: NumberForm, is_valid: Sequence[bool]) -> np.ndarray:
    """Return the weight of each row; those of invalid rows may be anything."""
    cells = rows.spelled(column, numbers)
    weights = parse_all(cells, number_of)
    if len(wrong := np.flatnonzero(is_valid & ~(np.isfinite(weights) & (weights >= 0)))):
        where, cell = rows.where(wrong.tolist()), cells[wrong[0]]
        held = "is empty" if cell is None else f"holds {format_repr(cell)}"
        raise UserError(f"{where}: column {column!r} {held}, but a weight is a number of 0 or more: correct it")
    return weights


def label_cells(rows: Rows, roles: Roles) -> list[Any]:
    """Return the cell of labels of each row; of several columns, the numbers of those that say 1."""
    return rows.indicated(roles.label) if roles.has_indicators else rows.cells(roles.label[0])


def _class_names(rows: Rows, roles: Roles) -> Sequence[str]:
    """Return the names of classes that labels number; () if labels are names themselves."""
    return roles.label if roles.has_indicators else rows.class_names.get(roles.label[0], ())


def _labels(rows: Rows, roles: Roles, task: Task, numbers: NumberForm) -> list[list[str]]:
    """Return the canonical labels of each row; a missing label is an empty string."""
    column, cells = roles.label[0], list[list[Any]]()
    for row, cell in enumerate(label_cells(rows, roles)):
        try:
            cells.append(task.split(cell))
        except Fault as fault:
            raise UserError(f"{rows.where([row])}: column {column!r} {fault}") from None
    places = [place for place, of_row in zip(rows.places, cells, strict=True) for _ in of_row]
    listed = replace(rows, places=places, columns={column: list(chain(*cells))})
    form, missing = (PLAIN, ()) if task.has_classes else (numbers, ABSENT)
    labels = ["" if (label or "").lower() in missing else label or "" for label in listed.spelled(column, form)]
    if declared := _class_names(rows, roles):
        names = {str(i): canonical(name) for i, name in enumerate(declared)}
        where, classes = f"{rows.source}: the metadata name {len(declared)} classes", set(names.values())
        if len(classes) < len(declared) or "" in classes:
            raise UserError(f"{where}, {format_list(declared)}, but two have the same name, or one has none: {RENAME}")
        names |= {"": "", "-1": ""}  # -1 means that the class is unknown
        if wrong := [label for label in labels if label not in names]:
            place = format_places(rows.unit, [places[labels.index(wrong[0])]])
            raise UserError(f"{where}, but {place} has the class {format_repr(wrong[0])}: {RENAME}")
        labels = [names[label] for label in labels]
    rest = iter(labels)
    return [list(islice(rest, len(of_row))) for of_row in cells]
