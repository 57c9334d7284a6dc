"""The texts of a run's page: mistakes first, coloured by what each word does."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heedful.report.doubtful import Doubtful
from heedful.report.section import Section, Texts
from heedful.report.slices import slice_columns
from heedful.report.words import branch_title
from heedful.runs.removal import Removal
from heedful.runs.result import RunResult
from heedful.runs.run_files import Predictions, PredictionTable

MAX_TEXTS = 2000
MODES = {"r": "each word left out (whole model)", "b": "linear part", "a": "attention weights"}
SCALES = {"r": 100, "b": 100, "a": 1000}  # of the weights, which the page has as integers, because these are shorter


def texts_section(
    result: RunResult, predictions: Predictions, table: PredictionTable, removals: Sequence[Removal], doubtful: Doubtful
) -> Section | None:
    """Return the texts that the page shows: the mistakes, then those with the least certain predictions."""
    if not any(table.texts):
        return None
    task, by_row = predictions.task, {removal.row: removal for removal in removals}
    good, bad = list(task.notable(predictions.probabilities, predictions.labels).values())[:2]
    measured = np.isin(predictions.index, list(by_row))
    order = list(dict.fromkeys([*bad.tolist(), *good[::-1][np.argsort(~measured[good[::-1]], kind="stable")].tolist()]))
    columns, shown = slice_columns(table.origin), order[:MAX_TEXTS]
    confidence, is_correct = task.confidence(predictions.probabilities), predictions.is_correct
    targets = predictions.predicted
    true, predicted = task.decode(predictions.labels), task.decode(targets)
    has_matrix = predictions.confusion_matrix is not None
    rows = []
    for i in shown:
        row: dict[str, Any] = describe_text(table, columns, i) | {"y": true[i], "k": predicted[i]}
        if has_matrix:
            row |= {"y": int(predictions.labels[i]), "k": int(targets[i])}
            row["p"] = round(float(predictions.probabilities[i, row["y"]]), 3)
        if task.has_classes:
            row |= {"x": int(not is_correct[i]), "c": round(float(confidence[i]), 3)}
        else:
            numbers = float(predictions.labels[i]), float(targets[i])
            row |= {"y": f"{numbers[0]:.4g}", "k": f"{numbers[1]:.4g}"}
            row["n"] = f"(off by {abs(numbers[0] - numbers[1]):.3g})"
        row |= {"d": 1} if i in doubtful.rows else {}
        row |= {"i": 1} if table.in_train[i] else {}
        if removal := by_row.get(int(predictions.index[i])):
            weights = {"r": removal.removal, "b": removal.branch, "a": removal.attention}
            row["w"] = removal.words
            row |= {key: np.rint(part * SCALES[key]).astype(int).tolist() for key, part in weights.items() if len(part)}
        if row.get("p") is not None and not row["x"]:
            del row["p"]
        rows.append(row)
    counts = {"wrong": sum(row.get("x", 0) for row in rows), "doubtful": sum("d" in row for row in rows)}
    counts["trained"] = sum("i" in row for row in rows)
    names = {"wrong": "mistakes", "doubtful": "doubtful labels", "trained": "also training texts"}
    presets = [(key, name, counts[key]) for key, name in names.items() if counts[key]]
    presets += [("unsure", "least certain", -1)] if task.has_classes else []
    presets += [("all", "texts", len(rows))] if task.has_classes else []
    presets = presets if task.has_classes else [("all", "texts, the largest errors first", len(rows)), *presets]
    used = [key for key in MODES if any(key in row for row in rows) and (key != "a" or result.network_is_used)]
    listed = [(name, values.most_common()) for name, values in columns.items()]
    modes, measure = [(key, MODES[key]) for key in used], "log odds" if task.has_classes else "number"
    unit = 1.0 if task.has_classes else float(np.std(predictions.labels))
    texts = Texts(
        rows, len(true), predictions.class_names, presets, modes, listed, measure=measure, unit=unit, scales=SCALES
    )
    return Section("Texts", [texts], _note(result, removals, task.has_classes))


def describe_text(table: PredictionTable, columns: Collection[str], i: int) -> dict[str, Any]:
    """Return the text t, where it is, o, and its cells s in `columns`, as the page's script reads them."""
    file, place, *others = table.origin
    where = f"{Path(table.origin[file][i]).name}:{table.origin[place][i]}"
    kept = (table.origin[name][i] for name in others if name not in columns)
    cells = [table.origin[name][i] for name in columns]
    return {"t": table.texts[i], "o": " · ".join((where, *kept)), "s": cells}


def _note(result: RunResult, removals: Sequence[Removal], has_classes: bool) -> str:
    """Say what the colours show, and how often attention and the linear part agree on the most important word."""
    measured = [text for text in removals if len(text.words) > 1]
    if not measured:
        return ""
    weight, parts = result.branch_weight, []
    if weight and result.has_network:
        parts.append(f"{branch_title(weight).capitalize()}; the network has the rest." if weight < 1 else "")
    what = "the log odds of its answer fall" if has_classes else "its number falls"
    parts.append(f"The colours show what the whole model does: by how much {what} when a word is left out.")
    agree = {
        name: float(np.mean([np.argmax(getattr(text, key)) == np.argmax(text.removal) for text in measured]))
        for key, name in (("attention", "Attention"), ("branch", "The linear part"))
        if all(len(getattr(text, key)) for text in measured) and (key != "attention" or result.network_is_used)
    }
    parts += [
        f"{name} alone names the same most important word in {100 * share:.0f} % of the texts."
        for name, share in agree.items()
    ]
    if "Attention" in agree:
        parts.append("Attention has no sign.")
    return " ".join(part for part in parts if part)
