"""Draw the pictures of the README and of docs/comparing.md again, except those of the benchmarks.

`python -m studies.pictures` draws the comparison of the study, and the curves of one of its runs, from the released
records; `--run` also draws the strip of the first text that the run's `callbacks.attention.texts` names.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.image import imread, imsave

from src.compare.sections import sections
from src.files import replace_atomically
from src.process import exit_with_message
from src.records.examples import Example, read_examples
from src.records.files import read_history
from src.report.figures.style import INK, WEIGHTS, new_figure, save_figure
from src.report.figures.training import draw_curves
from src.report.section import Chart
from src.report.words import coloured_words, top_words
from src.run_result import RunResult
from studies.plan import ROOT, load_plan
from studies.report import unpack
from studies.results import StudyResults

PICTURES = ROOT / "docs" / "pictures"
COMPARED = ("ranking", "differences")  # the charts of a comparison that the picture shows, from top to bottom
CURVES = "bilstm · bahdanau"  # the variant whose first seed has its curves drawn
LINE = 80  # maximum number of characters of a line of a strip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m studies.pictures", description=__doc__)
    parser.add_argument("--run", type=Path, help="the folder of a run")
    run = parser.parse_args(arguments).run
    with exit_with_message("standard output"), TemporaryDirectory() as folder:
        plan = load_plan()
        unpack(plan, Path(folder))
        study = StudyResults(plan, Path(folder))
        content = [item for section in sections(study.comparison) for item in section.content]
        figures = {item.name: item.figure for item in content if isinstance(item, Chart)}
        images = [imread(save_figure(figures[name], Path(folder) / f"{name}.png")) for name in COMPARED]
        width = max(image.shape[1] for image in images)
        white = [((0, 30), (0, width - image.shape[1]), (0, 0)) for image in images]
        stacked = np.concatenate([np.pad(*pair, constant_values=1) for pair in zip(images, white, strict=True)])
        with replace_atomically(PICTURES / "compare.png") as part:
            imsave(part, stacked, format="png")
        shown = next(run for run in study.runs("bidirectional") if run.result.architecture == CURVES and run.seed == 1)
        history = read_history(shown.folder)
        assert history is not None, f"{shown.folder.name} has no curves"
        save_figure(draw_curves(history, shown.result.best.epoch), PICTURES / "curves.png")
        if run is not None:
            examples = read_examples(run, RunResult.load(run).data.class_names)
            example = next(example for example in examples if example.split == "text")
            save_figure(draw_strip(example), PICTURES / "strip.png")


def draw_strip(example: Example) -> Figure:
    """Draw a text whose words are coloured by their attention weights, and its most attended words."""
    figure = new_figure(11, 3.2, None)
    probability = example.probabilities[example.predicted]
    figure.text(0.02, 0.92, f"{example.predicted} ({probability:.2f})", fontsize=11)
    column, row = 0, 0
    for word in coloured_words(example.words, example.weights):
        if column + len(word.text) > LINE:
            column, row = 0, row + 1
        ink = "white" if word.depth > 0.55 else INK
        box = {"facecolor": colormaps[WEIGHTS](word.depth), "edgecolor": "none", "pad": 2.5}
        style: dict[str, Any] = {"fontfamily": "monospace", "fontsize": 10, "color": ink, "parse_math": False}
        figure.text(0.02 + 0.0079 * column, 0.78 - 0.11 * row, word.text, bbox=box, **style)
        column += len(word.text) + 1
    top = top_words(example.words, example.weights)
    axes = figure.add_axes((0.8, 0.05, 0.14, 0.82))
    bars = axes.barh(range(len(top)), [each.weight for each in top], 0.75, color=colormaps[WEIGHTS](0.7))
    axes.bar_label(bars, [f"{each.weight:.4f}" for each in top], fontsize=8, padding=3)
    axes.set_yticks(range(len(top)), [each.word for each in top], fontsize=9, parse_math=False)
    axes.set_title("most attended words", loc="left", fontsize=9.5)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


if __name__ == "__main__":
    main()
