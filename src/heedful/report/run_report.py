"""The report of a run: `page.html` and the charts in `pictures/`."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from heedful.base.files import write_text
from heedful.base.formatting import format_count
from heedful.report.data_section import trained_note
from heedful.report.html import render_html
from heedful.report.numbers import format_compact
from heedful.report.run_page import RunPage
from heedful.report.score_sections import classes_section, scores_section
from heedful.report.terminal import OutputConsole, files_table, render_terminal
from heedful.report.verdict import run_verdict
from heedful.runs.result import RunResult
from heedful.runs.run_files import Predictions, read_gradients, read_history, read_statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_run_report(run: Path, result: RunResult, predictions: Predictions | None) -> list[Path]:
    """Write the charts of a run into `pictures/`, and its `page.html`; return the paths of the written files.

    A chart is omitted if what it shows is missing or empty; the page is omitted without predictions.

    Args:
        predictions: those of the test split, or of the validation split without a test.
    """
    from heedful.report.figures.style import save_figure  # importing matplotlib takes 0.6 s

    charts = dict(_charts(run, result, predictions))
    paths = [save_figure(figure, run / "pictures" / f"{name}.png") for name, figure in charts.items()]
    if predictions is not None and result.metrics:
        paths.append(write_page(run, result, predictions))
    return paths


def write_page(
    run: Path, result: RunResult, predictions: Predictions, model: Path | None = None, note: str = ""
) -> Path:
    """Write the page of a run, or of another training whose model is to be used, with a note on what it is about."""
    page, path = RunPage(run, result, predictions, model).build(), (model or run) / "page.html"
    verdict = f"{page.verdict} {note}".strip()
    write_text(path, render_html(page.title, verdict, _facts(result), page.sections, page.kicker))
    return path


def _charts(run: Path, result: RunResult, predictions: Predictions | None) -> Iterator[tuple[str, "Figure"]]:
    from heedful.report.figures import run_figures as figures

    if history := read_history(run):
        yield "curves", figures.draw_curves(history, result.best.epoch, bool(result.branch))
    if gradients := read_gradients(run):
        yield "gradients", figures.draw_gradients(gradients)
    if predictions is not None and not predictions.class_names:
        yield "scatter", figures.draw_scatter(predictions)
    elif predictions is not None and (table := predictions.confusion_matrix) is not None:
        yield "confusion", figures.draw_confusion(table, predictions.class_names, predictions.split)
        yield "reliability", figures.draw_reliability(predictions)
    if result.network_is_used and (statistics := read_statistics(run)):
        yield "attention_position", figures.draw_position(statistics)
        yield "attention_entropy", figures.draw_entropy(statistics)


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
        "Time": f"{format_compact(result.seconds.total or 0)} s ({format_compact(result.seconds.cpu or 0)} s of CPU)",
        "Milliseconds per text": "" if result.ms_per_text is None else format_compact(result.ms_per_text),
        "Commit": (result.git_commit or "")[:10],
        "Command": result.command or "",
    }


def print_summary(result: RunResult, predictions: Predictions | None) -> None:
    """Print the verdict, the metrics, and the class scores of the test or else the validation split."""
    console, best = OutputConsole(), result.best.describe()
    sections = [scores_section(result.metrics, f"Scores, best {best}" if best else "Scores", predictions)]
    if result.split in result.classes:
        sections.append(classes_section(result.classes[result.split], result.split))
    console.print(render_terminal(sections, verdict := run_verdict(result)))
    if (note := trained_note(result.data, result.split)) not in verdict:
        console.print(f"{note}.\n", soft_wrap=True)


def print_files(folder: Path) -> None:
    """Print what a run has written."""
    console, hidden = OutputConsole(), {folder / "wandb", folder / ".hydra"}
    written = [path for path in folder.rglob("*") if path.is_file() and hidden.isdisjoint(path.parents)]
    console.print(files_table(folder, written))
    for offline in sorted((folder / "wandb").glob("offline-run-*")):
        console.print(f"Offline W&B run; upload it with: wandb sync {shlex.quote(str(offline))}", soft_wrap=True)
