"""Sections with the scores of a run and of its classes."""

from collections.abc import Mapping, Sequence

import numpy as np

from heedful.base.formatting import SPLIT_NAMES, capitalize, format_count
from heedful.report.numbers import UNKNOWN, format_known, format_with_bounds
from heedful.report.section import Section, Table
from heedful.report.verdict import LINEAR_MODEL
from heedful.report.words import clean_text
from heedful.runs.result import ClassScore, RunResult, Score
from heedful.runs.run_files import Predictions
from heedful.tasks.stored import find_score

MAX_CLASSES = 20  # maximum number of rows in the table of classes
NOTE = (
    "The intervals are 95 % intervals over texts. They reflect the variation between texts, not the variation between "
    f"seeds. {UNKNOWN}: the value is not defined for these texts, or its interval is not, because all texts agree."
)
MAJORITY_NOTE = " majority_acc: accuracy of always predicting the most frequent training class."
BASELINE_NOTE = (
    "A linear model (with classes, logistic regression) of the TF-IDF features of words and bigrams, fitted to the "
    "same training split. Differences: the model's score minus that of the linear model, with paired 95 % intervals "
    "over texts; that of the calibration error has none. Features: those with the largest weights, largest first."
)


def scores_section(
    metrics: Mapping[str, Score], title: str = "Scores", predictions: Predictions | None = None
) -> Section:
    """Return a table of metrics by name, such as test/acc; only the first split, usually test, has intervals.

    Args:
        predictions: those of the first split; the note names the classes with so few texts that scores lack intervals.
    """
    splits = sorted({name.partition("/")[0] for name in metrics})  # test, val
    sizes = {split: 0 for split in splits}
    rows = []
    for name, score in metrics.items():
        split, _, metric = name.partition("/")
        sizes[split] = max(sizes[split], score.n or 0)
        if split == splits[0]:
            interval = UNKNOWN if score.low is None else f"{format_known(score.low)} to {format_known(score.high)}"
            others = [metrics.get(f"{other}/{metric}", Score()).value for other in splits[1:]]
            rows.append([name, format_known(score.value), interval, *map(format_known, others)])
    heads = ["metric", "value", "95 % interval", *(SPLIT_NAMES[split] for split in splits[1:])]
    counts = ", ".join(f"{SPLIT_NAMES[split]} {n:,}" for split, n in sizes.items())
    has_majority = any(f"{split}/majority_acc" in metrics for split in splits)
    note = f"Texts: {counts}. {NOTE}{MAJORITY_NOTE if has_majority else ''}"
    if predictions is not None:
        split, labels, task, groups = predictions.split, predictions.labels, predictions.task, predictions.groups
        if len(task.applied_thresholds) and "val" in splits:
            note += " The thresholds were chosen on the validation texts, whose scores are therefore too high."
        if rare := task.describe_rare_classes(labels, groups, split):
            note += f" Scores that are means over classes have no interval, because classes are rare: {rare}."
        if groups is not None:
            note += (
                f" The texts are in {format_count(len(np.unique(groups)), 'group')} (data.group), over which the "
                "intervals are computed; the calibration error has none."
            )
    return Section(title, [Table(heads, rows)] if rows else [], note)


def baseline_section(result: RunResult, features: Mapping[str, Sequence[str]]) -> Section:
    """Return the scores of the linear model beside those of the model, and its top features by class."""
    rows = []
    for name, score in result.baseline.metrics.items():
        split, _, metric = name.partition("/")
        if split == "test" and (known := find_score(metric)) and name in result.metrics:
            value, difference = result.metrics[name].value, result.baseline.differences.get(name)
            gain = format_with_bounds((difference.value, difference.low, difference.high)) if difference else UNKNOWN
            rows.append([known.label, format_known(value), format_known(score.value), gain])
    tables = [Table(["score", "model", LINEAR_MODEL, "difference"], rows)] if rows else []
    if features:
        words_by_class = {name: ", ".join(clean_text(word, 40) for word in words) for name, words in features.items()}
        shown = [[clean_text(name, 40), words] for name, words in words_by_class.items()][:MAX_CLASSES]
        tables.append(Table(["class", "features"], shown, text_columns=frozenset(["features"])))
    return Section(capitalize(LINEAR_MODEL), tables, BASELINE_NOTE)


def classes_table(classes: Mapping[str, ClassScore]) -> Table:
    """Return precision, recall, F1 and number of texts of the (at most) 20 classes with the lowest F1."""
    title, shown = "", list(classes)
    has_bounds = any(scores.f1_low is not None for scores in classes.values())
    if len(classes) > MAX_CLASSES:
        shown.sort(key=lambda name: -1 if (f1 := classes[name].f1) is None else f1)
        title = f"The {MAX_CLASSES} of {len(classes)} classes with the lowest F1; result.json contains all classes"
    rows = []
    for name in shown[:MAX_CLASSES]:
        scores = classes[name]
        numbers = map(format_known, (scores.precision, scores.recall, scores.f1))
        bounds = UNKNOWN if scores.f1_low is None else f"{scores.f1_low:.3f} to {format_known(scores.f1_high)}"
        rows.append([clean_text(name, 40), *numbers, *([bounds] if has_bounds else []), f"{scores.support or 0:,}"])
    heads = ["class", "precision", "recall", "F1", *(["95 % interval of F1"] if has_bounds else []), "texts"]
    return Table(heads, rows, title)


def classes_section(classes: Mapping[str, ClassScore], split: str) -> Section:
    return Section(f"Classes, {SPLIT_NAMES[split]}", [classes_table(classes)])
