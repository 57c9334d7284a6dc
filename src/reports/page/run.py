"""The page of one run: scores, curves, confusion matrix and attention weights."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from src.analysis.metrics import confusion_matrix
from src.reports.files import Example, read_examples, read_history, read_predictions
from src.reports.page.chart import linear_scale
from src.reports.page.confusion import confusion_table
from src.reports.page.curves import run_curves
from src.reports.page.document import Section, render_document
from src.reports.page.formatting import format_compact, format_count, format_interval, format_score, format_time
from src.reports.page.html import Html, Inside, join, tag
from src.reports.page.maps import token_maps
from src.reports.page.selector import panes, picker
from src.reports.page.strips import CAPTION, strip
from src.reports.page.table import TableRow, chart_table, plain_table
from src.reports.tables import UNKNOWN
from src.reports.words import top_words
from src.run_result import RunResult, Score

MAX_CLASSES = 5  # classes listed for a text
UNBOUNDED = ("brier", "nll")  # scores that can exceed 1


def run_page(run: Path) -> str | None:
    """Render the page of a run; None if the run has no content for a page.

    Raises:
        UserError: a file of the run cannot be read.
    """
    result, predictions, history = RunResult.load(run), read_predictions(run), read_history(run)
    names = predictions.class_names if predictions else result.data.class_names
    sections = []
    if result.metrics:
        sections.append(_scores(result.metrics))
    if history:
        caption = "Values after each epoch. The test uses the checkpoint with the best validation score."
        sections.append(Section("curves", "Curves", caption, run_curves(history)))
    if predictions:
        counts = confusion_matrix(predictions.probabilities, predictions.labels)
        title = f"{predictions.split} split, {counts.sum():,} texts"
        caption = "Number of texts by true class (row) and predicted class (column), and the fraction of the row."
        sections.append(Section("confusion", "Confusion", caption, confusion_table(counts, names, title)))
    if examples := read_examples(run, names):
        sections.append(_attention(examples))
    if not sections:
        return None
    return render_document(_title(result), tag("code", result.command or run.name), _facts(result), sections)


def _title(result: RunResult) -> str:
    return f"{result.variant} on {result.choices['data']}" if result.variant and "data" in result.choices else "A run"


def _facts(result: RunResult) -> dict[str, Inside]:
    best = result.best
    facts: dict[str, Inside] = {}
    if sizes := [f"{size:,} {split}" for split, size in result.data.sizes.items()]:
        facts["Texts"] = ", ".join(sizes)
    if result.data.class_names:
        facts["Classes"] = ", ".join(result.data.class_names)
    if result.seed is not None:
        facts["Seed"] = str(result.seed)
    if result.parameters.total is not None:
        facts["Parameters"] = f"{result.parameters.total:,}"
    if best.epoch is not None and best.monitor is not None and best.value is not None:
        facts["Checkpoint"] = f"epoch {best.epoch}, {best.monitor} {best.value:.4f}"
    if epochs := result.seconds.per_epoch:
        facts["Training"] = f"{format_count(len(epochs), 'epoch')} of {format_compact(sum(epochs) / len(epochs))} s"
    if result.device is not None:
        facts["Machine"] = f"{result.device}, {result.precision or ''}"
    if result.started is not None:
        facts["Started"] = format_time(result.started)
    if result.git_commit:
        facts["Commit"] = result.git_commit[:10]
    return facts


def _scores(metrics: Mapping[str, Score]) -> Section:
    by_split: dict[str, list[TableRow]] = {}
    for name in sorted(metrics, key=lambda name: not name.startswith("test/")):
        split, _, score = name.partition("/")
        metric = metrics[name]
        charted = None if score in UNBOUNDED else metric.value
        count = UNKNOWN if metric.n is None else f"{metric.n:,}"
        cells = (format_score(metric.value), format_interval(metric.low, metric.high), count)
        row = TableRow(score, charted, metric.low, metric.high, cells)
        by_split.setdefault(split, []).append(row)
    caption = (
        "The lines are 95 % intervals over texts. They show the variation with other texts of the same kind, not the "
        "variation with other seeds."
    )
    scale, heads = linear_scale([0.0, 1.0]), ("Value", "95 % interval", "Texts")
    description = "Scores from 0 to 1 with their intervals"
    tables = {split: chart_table("Score", scale, heads, rows, description) for split, rows in by_split.items()}
    split_picker = tag("div", picker("split", "Split", {split: split for split in tables}), class_="pickers")
    return Section("numbers", "Scores", caption, join(split_picker, panes("split", tables)))


def _attention(examples: Sequence[Example]) -> Section:
    caption = CAPTION
    if any(example.maps for example in examples):
        caption += " In a map, rows are attending words and columns attended words; each row sums to 1."
    return Section("attention", "Attention", caption, join(*map(_example, examples)))


def _example(example: Example) -> Html:
    top = top_words(example.words, example.weights)
    rows = [(tag("bdi", word), f"{weight:.4f}", position + 1) for position, word, weight in top]
    table = plain_table(("most attended", "weight", "position"), rows, numbers=(1, 2))
    likeliest = sorted(example.probabilities.items(), key=lambda item: -item[1])[:MAX_CLASSES]
    return tag(
        "article",
        tag("h3", example.title),
        tag("p", ", ".join(f"{name} {probability:.3f}" for name, probability in likeliest), class_="soft"),
        tag("div", tag("div", strip(example.words, example.weights), token_maps(example)), table, class_="beside"),
    )
