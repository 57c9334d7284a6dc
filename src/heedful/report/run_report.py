"""The report of a run: `page.html` and the charts in `pictures/`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from heedful.base.files import write_text
from heedful.base.formatting import format_count
from heedful.report.data_section import data_section, trained_note
from heedful.report.figures import run_figures as figures
from heedful.report.figures.style import save_figure
from heedful.report.html import render_html
from heedful.report.numbers import format_compact
from heedful.report.score_sections import baseline_section, classes_section, classes_table, scores_section
from heedful.report.section import Chart, Content, Group, Section
from heedful.report.terminal import OutputConsole, files_table, render_terminal
from heedful.report.verdict import run_verdict
from heedful.report.words import example_content, example_notes, example_strips
from heedful.runs.examples import KINDS, Example, read_texts
from heedful.runs.result import RESULT_FILE, RunResult
from heedful.runs.run_files import (
    Predictions,
    read_features,
    read_gradients,
    read_history,
    read_statistics,
)


def write_run_report(run: Path, result: RunResult, predictions: Predictions | None) -> list[Path]:
    """Write the charts of a run into `pictures/`, and its `page.html`; return the paths of the written files.

    A chart is omitted if what it shows is missing or empty; the page is omitted if it would be empty.

    Args:
        predictions: those of the test split, or of the validation split without a test.
    """
    paths: list[Path] = []
    sections = []
    for section in run_sections(run, result, predictions):
        content = list(section.content)
        for place, item in enumerate(content):
            if isinstance(item, Chart):
                paths.append(save_figure(item.figure, run / "pictures" / f"{item.name}.png"))
                content[place] = replace(item, png=paths[-1])
        sections.append(replace(section, content=content))
    if sections:
        page = run / "page.html"
        write_text(page, render_html(_title(result), run_verdict(result), _facts(result), sections))
        paths.append(page)
    return paths


def run_sections(run: Path, result: RunResult, predictions: Predictions | None) -> list[Section]:
    metrics, texts = result.metrics.items(), read_texts(run)
    examples, errors = ([text for text in texts if bool(text.kind) == is_error] for is_error in (False, True))
    sections = [
        scores_section(
            dict(sorted(metrics, key=lambda item: not item[0].startswith("test/"))), predictions=predictions
        ),
        baseline_section(result, read_features(run) or {}),
        Section("Training", list(_training(run, result)), "The test uses the best checkpoint."),
        Section("Classes" if result.data.class_names else "Numbers", list(_predictions(predictions))),
        Section("Errors", list(_errors(errors)), example_notes(errors)),
        Section("Attention", list(_attention(run, result, examples)), example_notes(examples)),
        data_section(result.data),
    ]
    return [section for section in sections if section and section.content]


def _training(run: Path, result: RunResult) -> Iterator[Content]:
    if history := read_history(run):
        curves = figures.draw_curves(history, result.best.epoch, bool(result.branch))
        yield Chart("curves", curves, "Loss and score by epoch")
    if gradients := read_gradients(run):
        yield Chart("gradients", figures.draw_gradients(gradients), "Gradient norm of each component by step")


def _predictions(predictions: Predictions | None) -> Iterator[Content]:
    if predictions is None:
        return
    if not predictions.class_names:
        yield Chart("scatter", figures.draw_scatter(predictions), "Predicted against true numbers")
        return
    yield classes_table(predictions.class_scores())
    if (table := predictions.confusion_matrix) is not None:
        figure = figures.draw_confusion(table, predictions.class_names, predictions.split)
        yield Chart("confusion", figure, "Number of texts by true class and predicted class")
        yield Chart("reliability", figures.draw_reliability(predictions), "Accuracy by confidence")
        figure = figures.draw_coverage(predictions)
        yield Chart("coverage", figure, "Accuracy of the most confident predictions by their share")


def _errors(errors: Sequence[Example]) -> Iterator[Content]:
    for kind, title in KINDS.items():
        if texts := [each for each in errors if each.kind == kind]:
            yield Group(title, [strip for each in texts for strip in example_strips(each, each.title)])


def _attention(run: Path, result: RunResult, examples: Sequence[Example]) -> Iterator[Content]:
    if result.network_is_used and (statistics := read_statistics(run)):
        yield Chart("attention_position", figures.draw_position(statistics), "Mean attention weight by position")
        yield Chart("attention_entropy", figures.draw_entropy(statistics), "Effective number of words by length")
    yield from map(example_content, examples)


def _title(result: RunResult) -> str:
    architecture, data = result.architecture, result.choices.get("data")
    unused = "" if result.network_is_used else " (the network is not used)"
    return f"{architecture}{unused} on {data}" if architecture and data is not None else "A run"


def _facts(result: RunResult) -> dict[str, str]:
    epochs, parameters = result.seconds.per_epoch, result.parameters.total
    return {
        "Texts": ", ".join(f"{size:,} {split}" for split, size in result.data.sizes.items()),
        "Classes": ", ".join(result.data.class_names),
        "Seed": "" if result.seed is None else str(result.seed),
        "Parameters": "" if parameters is None else f"{parameters:,}",
        "Checkpoint": result.best.describe(),
        "Training": f"{format_count(len(epochs), 'epoch')} of {format_compact(median(epochs))} s" if epochs else "",
        "Machine": "" if result.device is None else f"{result.device}, {result.precision or ''}",
        "Started": (result.started or "")[:16].replace("T", " "),
        "Commit": (result.git_commit or "")[:10],
        "Command": result.command or "",
    }


def print_summary(result: RunResult, folder: Path, predictions: Predictions | None) -> None:
    """Print the verdict, the metrics, the class scores of the test or else the validation split, and the files."""
    console, best = OutputConsole(), result.best.describe()
    sections = [scores_section(result.metrics, f"Scores, best {best}" if best else "Scores", predictions)]
    if result.split in result.classes:
        sections.append(classes_section(result.classes[result.split], result.split))
    console.print(render_terminal(sections, verdict := run_verdict(result)))
    if (note := trained_note(result.data, result.split)) not in verdict:
        console.print(f"{note}.\n", soft_wrap=True)
    written = {folder / RESULT_FILE, *(path for path in folder.rglob("*") if path.is_file())}
    hidden = {folder / "wandb", folder / ".hydra"}
    console.print(files_table(folder, [path for path in written if hidden.isdisjoint(path.parents)]))
    for offline in sorted((folder / "wandb").glob("offline-run-*")):
        console.print(f"Offline W&B run; upload it with: wandb sync {offline}", soft_wrap=True)
