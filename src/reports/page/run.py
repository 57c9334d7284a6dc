"""The page of one run: scores, curves, confusion matrix, errors, attention weights and data."""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from src.faithfulness.records import Record
from src.files import write_text
from src.formatting import format_count
from src.records.examples import Example, read_examples
from src.records.files import read_history, read_or_warn, read_predictions
from src.reports.data_table import data_notes, data_rows
from src.reports.page.attention import coloured_words, token_maps
from src.reports.page.chart import ChartRow, ChartTable, linear_scale
from src.reports.page.confusion import confusion
from src.reports.page.curves import run_curves
from src.reports.page.document import render_page
from src.reports.page.errors import read_errors
from src.reports.page.formatting import format_compact, format_interval, format_score, format_time
from src.reports.page.rankings import ranked_texts
from src.reports.tables import UNKNOWN
from src.reports.words import top_words
from src.run_result import ClassScore, RunResult, Score
from src.terms.evaluation import class_scores, confusion_matrix

MAX_CLASSES = 5  # maximum number of classes listed for a text
UNBOUNDED = ("brier", "nll")  # scores that can exceed 1


def write_page(run: Path) -> Path | None:
    """Write `page.html` into the folder of a run; return its path, or None if the run has no content for a page.

    Raises:
        UserError: if a file of the run cannot be read.
    """
    html = run_page(run)
    if html is None:
        return None
    path = run / "page.html"
    write_text(path, html)
    return path


def run_page(run: Path) -> str | None:
    """Return the page of a run as HTML; None if the run has no content for a page.

    Raises:
        UserError: if a file of the run cannot be read.
    """
    result, predictions, history = RunResult.load(run), read_predictions(run), read_history(run)
    names = predictions.class_names if predictions else result.data.class_names
    record = read_or_warn(Record.load, run)
    table, classes = None, []
    if predictions:
        scores_of_classes = class_scores(predictions.probabilities, predictions.labels, names)
        classes = [_class_row(name, scores) for name, scores in scores_of_classes.items()]
        counts = confusion_matrix(predictions.probabilities, predictions.labels)
        table = confusion(counts, names, f"{predictions.split} split, {counts.sum():,} texts")
    scores = _scores(result.metrics)
    rows = [[name, *cells] for name, cells in data_rows(result.data)]
    sections = {
        "data": {"splits": list(result.data.splits), "rows": rows, "notes": data_notes(result.data)} if rows else None,
        "scores": scores,
        "split_names": {split: split for split in scores},
        "curves": run_curves(history) if history else [],
        "confusion": table,
        "classes": classes,
        "errors": read_errors(run),
        "examples": [_example(example) for example in read_examples(run, names)],
        "ranked": [] if record is None else ranked_texts(record),
    }
    if not any(sections.values()):
        return None
    command = result.command or run.name
    return render_page("run.html.j2", title=_title(result), command=command, facts=_facts(result), **sections)


def _title(result: RunResult) -> str:
    architecture, data = result.architecture, result.choices.get("data")
    return f"{architecture} on {data}" if architecture and data is not None else "A run"


def _facts(result: RunResult) -> dict[str, str]:
    best, epochs, parameters = result.best, result.seconds.per_epoch, result.parameters.total
    facts = {
        "Texts": ", ".join(f"{size:,} {split}" for split, size in result.data.sizes.items()),
        "Classes": ", ".join(result.data.class_names),
        "Seed": "" if result.seed is None else str(result.seed),
        "Parameters": "" if parameters is None else f"{parameters:,}",
        "Checkpoint": ""
        if best.epoch is None or best.monitor is None or best.value is None
        else f"epoch {best.epoch + 1}, {best.monitor} {best.value:.4f}",
        "Training": f"{format_count(len(epochs), 'epoch')} of {format_compact(fmean(epochs))} s" if epochs else "",
        "Machine": "" if result.device is None else f"{result.device}, {result.precision or ''}",
        "Started": "" if result.started is None else format_time(result.started),
        "Commit": (result.git_commit or "")[:10],
    }
    return {name: fact for name, fact in facts.items() if fact}


def _scores(metrics: Mapping[str, Score]) -> dict[str, ChartTable]:
    """Return a table of scores for each split, the test split first."""
    by_split: dict[str, list[ChartRow]] = {}
    for name in sorted(metrics, key=lambda name: not name.startswith("test/")):
        split, _, score = name.partition("/")
        metric = metrics[name]
        count = UNKNOWN if metric.n is None else f"{metric.n:,}"
        cells = (format_score(metric.value), format_interval(metric.low, metric.high), count)
        charted = None if score in UNBOUNDED else metric.value
        by_split.setdefault(split, []).append(ChartRow(score, charted, metric.low, metric.high, cells))
    charted_ends = [end for rows in by_split.values() for row in rows if row.value is not None for end in row[1:4]]
    lowest = min((end for end in charted_ends if end is not None), default=0.0)  # mcc may be negative
    scale, heads = linear_scale([min(0.0, lowest), 1.0]), ("Value", "95 % interval", "Texts")
    return {split: ChartTable(scale, heads, rows, "Scores with their intervals") for split, rows in by_split.items()}


def _class_row(name: str, score: ClassScore) -> list[str]:
    return [name, *map(format_score, (score.precision, score.recall, score.f1)), f"{score.support or 0:,}"]


def _example(example: Example) -> dict[str, Any]:
    likeliest = sorted(example.probabilities.items(), key=lambda item: -item[1])[:MAX_CLASSES]
    return {
        "name": example.name,
        "title": example.title,
        "classes": ", ".join(f"{name} {probability:.3f}" for name, probability in likeliest),
        "strip": coloured_words(example.words, example.weights),
        "maps": token_maps(example),
        "top": [
            (word, f"{weight:.4f}", position + 1)
            for position, word, weight in top_words(example.words, example.weights)
        ],
    }
