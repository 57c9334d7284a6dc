"""Predictions of other programs for the test texts of runs, as in `heedful compare <runs> outside.svc=svc.csv`.

A table has a row for each test text, which a column with a name of the text identifies, or the line in its file, as in
`predictions/test.csv` of a run; `predicted` or `probability_<class>`; and perhaps `fold`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from heedful.base.errors import UserError
from heedful.base.formatting import format_count, format_list, format_repr
from heedful.config.mistakes import did_you_mean
from heedful.data.tables import Rows, TableFile
from heedful.records.runs import FinishedRun
from heedful.records.variants import Variant, pool_folds
from heedful.runs.result import RunResult
from heedful.runs.run_files import Predictions, read_table
from heedful.runtime import Fault, spell
from heedful.tasks.labels import match_classes
from heedful.tasks.task import Task

TRAINED = ".trained"
LABELS = ("predicted", "label")  # columns whose cells may be lists
MAX_ERROR = 0.01  # of a sum of probabilities, which other programs may round


@dataclass(frozen=True)
class Outside:
    """The predictions of another program.

    Args:
        file: contains them; or the columns of such a file by name, as sequences or arrays; or a fitted pipeline of
            scikit-learn, which predicts the texts.
        trained: never, if the program was not trained on any of these texts; "" if only a column `fold` may show it.
    """

    file: Any
    trained: str = ""


def parse_outside(arguments: Sequence[str]) -> dict[str, Outside]:
    """Return the predictions that arguments such as `outside.svc=svc.csv outside.llm.trained=never` name."""
    given = [argument.removeprefix("outside.").partition("=")[::2] for argument in arguments]
    found = {key: Outside(Path(value)) for key, value in given if not key.endswith(TRAINED)}
    for key, value in given:
        if key.endswith(TRAINED):
            if (name := key.removesuffix(TRAINED)) not in found or value != "never":
                raise UserError(f"outside.{key}={value}: must be never, beside outside.{name}=<file>")
            found[name] = replace(found[name], trained=value)
    if broken := [key for key, value in given if not key or not value]:
        raise UserError(f"outside.{broken[0]}: write outside.<name>=<file with predictions>")
    return found


def outside_variant(name: str, outside: Outside, runs: Sequence[FinishedRun]) -> Variant:
    """Return a variant with the predictions of another program for the test texts of `runs`, the folds of one seed."""
    texts = _TestTexts.of(runs)
    given = outside.file
    table = _read(name, _predict(name, given, texts) if hasattr(given, "predict") else given)
    rows = _match(table, texts)
    predictions = _predictions(table, rows, texts)
    folds = table.columns.get("fold")
    if folds is not None:
        differ = [folds[row] != str(fold) for row, fold in zip(rows, texts.folds, strict=True)]
        _refuse(table, rows, differ, "fold", "the runs")
    parts = []
    for run in runs:
        of_fold = np.array(texts.folds) == run.fold
        arrays = {key: getattr(predictions, key)[of_fold] for key in ("probabilities", "labels", "index")}
        groups = None if predictions.groups is None else predictions.groups[of_fold]
        result = RunResult(status="completed", seed=run.seed, started=run.started, data=run.result.data)
        given = predictions._replace(**arrays, groups=groups)
        parts.append(FinishedRun(Path(table.source), result, {}, given))
    is_checked = folds is not None or bool(outside.trained)
    return Variant(name, {}, tuple(parts), table.source, is_checked)


@dataclass(frozen=True)
class _TestTexts:
    """The test texts of runs, in the order of their predictions."""

    columns: Mapping[str, list[str]]  # the file and the line of each text, and the columns of `data.keep_columns`
    folds: list[int]
    texts: list[str]  # [] with `extras.keep_texts=false`
    predictions: Predictions  # of the runs

    @classmethod
    def of(cls, runs: Sequence[FinishedRun]) -> "_TestTexts":
        parts = [run.predictions() for run in runs]
        columns, folds, written = dict[str, list[str]](), list[int](), list[str]()
        for run, part in zip(runs, parts, strict=True):
            if (table := read_table(run.folder, part)) is None:
                file = run.folder / "predictions" / f"{part.split}.csv"
                raise UserError(f"{file}: is absent, or does not have the columns of this version: train again")
            for name, cells in table.origin.items():
                columns.setdefault(name, []).extend(cells)
            folds += [run.fold] * len(part.labels)
            written += table.texts
        return cls(columns, folds, written if any(written) else [], pool_folds(parts)[0])

    def key(self, columns: Mapping[str, Any], file: str) -> tuple[str, ...]:
        """Return those of the columns that name a text: one of `data.keep_columns`, or the line (and the file)."""
        source, place, *kept = self.columns
        lines = (source, place) if source in columns else (place,)
        for key in (*((name,) for name in kept), lines):
            if set(key) <= columns.keys() and len(set(self.names(key))) == len(self.folds):
                return key
        raise UserError(
            f"{file}: no column names the texts: it needs {place!r}, as predictions/test.csv of a run has it, or a "
            f"column without repeated cells of data.keep_columns ({format_list(kept) or 'none in these runs'})"
        )

    def names(self, key: Sequence[str]) -> list[tuple[str, ...]]:
        return list(zip(*(self.columns[name] for name in key), strict=True))


def _read(name: str, file: Path | Mapping[str, Sequence[Any]]) -> Rows:
    """Return the rows of predictions; their cells are spelled, except those of labels."""
    if isinstance(file, Mapping):
        if len(sizes := {len(cells) for cells in file.values()}) != 1:
            raise UserError(f"outside {name}: the columns must have the same length, not {sorted(sizes)}")
        chunks = [Rows(f"outside {name}", "row", range(1, 1 + sizes.pop()), {key: list(file[key]) for key in file})]
    elif not file.is_file():
        raise UserError(f"{file}: no such file; name a file with predictions")
    else:
        chunks = list(TableFile(file, [], others=True).read())
    columns = {
        column: [cell for rows in chunks for cell in (rows.cells if column in LABELS else rows.spelled)(column)]
        for column in dict.fromkeys(chain(*(rows.columns for rows in chunks)))
    }
    return replace(chunks[0], places=[place for rows in chunks for place in rows.places], columns=columns)


def _predict(name: str, pipeline: Any, texts: _TestTexts) -> dict[str, Sequence[Any]]:
    """Return the columns of the predictions of a fitted pipeline."""
    if not texts.texts:
        raise UserError(f"outside {name}: the runs do not keep their texts; give columns with predictions")
    if not hasattr(pipeline, "predict_proba"):
        return {**texts.columns, "predicted": pipeline.predict(texts.texts)}
    columns = zip(pipeline.classes_, pipeline.predict_proba(texts.texts).T, strict=True)
    return {**texts.columns, **{f"probability_{label}": column for label, column in columns}}


def _match(table: Rows, texts: _TestTexts) -> list[int]:
    """Return the row of each test text."""
    key = texts.key(table.columns, table.source)
    shown, rows = " and ".join(map(repr, key)), dict[tuple[str, ...], int]()
    for row, cells in enumerate(zip(*(table.columns[name] for name in key), strict=True)):
        name = tuple(cell or "" for cell in cells)
        if name in rows:
            raise UserError(f"{table.where([row])}: {shown} {', '.join(name)} occurs twice; keep one row of a text")
        rows[name] = row
    names = [tuple(spell(cell) or "" for cell in name) for name in texts.names(key)]
    if missing := [name for name in names if name not in rows]:
        raise UserError(
            f"{table.source}: {len(missing):,} of {len(names):,} test texts have no row, such as {shown} "
            f"{', '.join(missing[0])}; a refusal to answer is an empty 'predicted', which counts as wrong"
        )
    if others := rows.keys() - set(names):
        first = min(others, key=lambda name: rows[name])
        raise UserError(
            f"{table.where([rows[first]])}: {shown} {', '.join(first)} is none of the {len(names):,} test texts; "
            f"{format_count(len(others), 'such row')}: leave only the test texts"
        )
    matched = [rows[name] for name in names]
    known = {**({"text": texts.texts} if texts.texts else {}), **texts.columns}
    for column in (name for name in known if name in table.columns and name not in key):
        cells = table.columns[column]
        differ = [(cells[row] or "") != (spell(cell) or "") for row, cell in zip(matched, known[column], strict=True)]
        _refuse(table, matched, differ, column, "the runs")
    return matched


def _refuse(table: Rows, rows: Sequence[int], differ: Sequence[bool], column: str, other: str) -> None:
    """Raise a UserError that names the first of the rows whose cell differs."""
    if any(differ):
        row = min(row for row, is_other in zip(rows, differ, strict=True) if is_other)
        raise UserError(
            f"{table.where([row])}: {column!r} is {format_repr(table.columns[column][row])}, and not that of {other}; "
            f"{format_count(sum(differ), 'such row')}: compare predictions for the same texts"
        )


def _targets(table: Rows, column: str, rows: Sequence[int], task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return the targets of the labels in a column, and which rows have none; the former have any label there."""
    lists, empty = [], []
    for row in rows:
        cell, where = table.columns[column][row], table.where([row])
        try:
            labels = [spell(label) or "" for label in ([] if cell is None or cell == "" else task.split(cell))]
        except Fault as fault:
            raise UserError(f"{where}: {column!r} {fault}") from None
        labels = match_classes(labels, task.classes) if task.has_classes else labels
        for label in labels:
            if reason := task.fault(label):
                raise UserError(f"{where}: {column!r} {format_repr(label)} {reason}")
            if task.has_classes and label not in task.classes:
                raise UserError(
                    f"{where}: {column!r} is {format_repr(label)}, which is no class"
                    f"{did_you_mean(label, task.classes)}; the classes are {format_list(task.classes)}"
                )
        empty.append(not labels and not task.separates)
        if empty[-1] and not task.has_classes:
            raise UserError(f"{where}: {column!r} is empty; it must be a number")
        lists.append([task.classes[0]] if empty[-1] else labels)
    names = list(dict.fromkeys(chain(*lists)))
    numbers = np.array([names.index(label) for label in chain(*lists)], dtype=np.int64)
    sizes = np.array(list(map(len, lists)), dtype=np.int64)
    return task.recode(task.encode(names, numbers, sizes), task.classes), np.array(empty)


def _predictions(table: Rows, rows: Sequence[int], texts: _TestTexts) -> Predictions:
    """Return the predictions in a table for the test texts."""
    theirs = texts.predictions
    task = theirs.task.untuned()
    if "label" in table.columns:
        labels, _ = _targets(table, "label", rows, task)
        same = np.isclose(labels, theirs.labels) if labels.dtype.kind == "f" else labels == theirs.labels
        _refuse(table, rows, (~same.reshape(len(rows), -1).all(1)).tolist(), "label", "the runs")
    names = [f"probability_{name}" for name in task.classes]
    given = {name for name in table.columns if name.startswith("probability_")} if names else set()
    if given and (odd := sorted(given ^ set(names))):
        fault = "is missing" if odd[0] in names else "is of no class"
        raise UserError(f"{table.source}: {odd[0]!r} {fault}; it needs all of {format_list(names)}, or none")
    has_probabilities = bool(given)
    if not has_probabilities and "predicted" not in table.columns:
        raise UserError(f"{table.source}: neither 'predicted' nor all of {format_list(names)}")
    probabilities = _probabilities(table, rows, names, not task.separates) if has_probabilities else None
    if "predicted" in table.columns:
        predicted, empty = _targets(table, "predicted", rows, task)
        if probabilities is None:
            probabilities = task.certain(_wrong_if(empty, predicted, theirs))
        else:
            same = task.predicted(probabilities) == predicted
            differ = (~same.reshape(len(rows), -1).all(1) & ~empty).tolist()
            _refuse(table, rows, differ, "predicted", "the largest probability")
    assert probabilities is not None
    return theirs._replace(probabilities=probabilities, task=task, has_probabilities=has_probabilities)


def _wrong_if(empty: np.ndarray, predicted: np.ndarray, theirs: Predictions) -> np.ndarray:
    """Return the predicted classes, and where there is no answer, the most frequent of the wrong ones."""
    if not empty.any():
        return predicted
    first, second, *_ = np.argsort(-theirs.task.class_counts(theirs.labels), kind="stable")
    return np.where(empty, np.where(theirs.labels == first, second, first), predicted)


def _probabilities(table: Rows, rows: Sequence[int], names: Sequence[str], are_shares: bool) -> np.ndarray:
    """Return the probabilities in a table, n×C; if they are shares, those of a row must have the sum 1."""
    values = np.empty((len(rows), len(names)))
    for place, row in enumerate(rows):
        for column, name in enumerate(names):
            cell = table.columns[name][row]
            try:
                values[place, column] = float(cell)
            except (TypeError, ValueError):
                raise UserError(f"{table.where([row])}: {name!r} is {format_repr(cell)}; it must be a number") from None
        total = values[place].sum()
        is_wrong = not (values[place] >= 0).all() or values[place].max() > 1
        if is_wrong or (are_shares and abs(total - 1) > MAX_ERROR):
            expected = "must be from 0 to 1" + (", with the sum 1" if are_shares else "")
            raise UserError(f"{table.where([row])}: the probabilities {expected}; their sum is {total:.4g}")
    return values / values.sum(1, keepdims=True) if are_shares else values
