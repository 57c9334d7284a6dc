"""Compute the final metrics of a run with their intervals, and print tables of metrics and files."""

import logging
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from torch import Tensor
from torchmetrics import Metric, MetricCollection

from src.config.keys import default_metrics
from src.console import OutputConsole
from src.records.files import load_predictions
from src.report.scores import baseline_line, classes_section, scores_section
from src.report.terminal import files_table, render_terminal
from src.run_result import Baseline, ClassScore, RunResult, Score
from src.terms.evaluation import evaluate, score_differences

log = logging.getLogger(__name__)


def evaluate_splits(
    folder: Path, majority: int, logged: Mapping[str, Tensor]
) -> tuple[dict[str, Score], dict[str, dict[str, ClassScore]], Baseline]:
    """Return the metrics of all predicted splits, by names such as test/acc; the class scores, by split and class; and
    the scores of the linear baseline, which are empty if it was not fitted.

    Args:
        majority: index of the most frequent class of the training texts.
        logged: the metrics that were logged, by the same names. Default metrics that are not among them are omitted;
            metrics that the run has added have no interval.
    """
    removed = default_metrics().keys() - {name.partition("/")[2] for name in logged}
    values = ((name, value.item()) for name, value in logged.items())
    own = ((name, value) for name, value in values if name.partition("/")[2] not in default_metrics())
    added = {name: value if math.isfinite(value) else None for name, value in own}
    results: dict[str, Score] = {}
    classes: dict[str, dict[str, ClassScore]] = {}
    linear: dict[str, Score] = {}
    differences: dict[str, Score] = {}
    for path in sorted((folder / "predictions").glob("*.npz")):
        predictions = load_predictions(path)
        split, probabilities, labels, names, index = predictions
        scores = evaluate(probabilities, labels, majority=majority)
        results |= {f"{split}/{name}": score for name, score in scores.items() if name not in removed}
        results |= {name: Score(value, n=len(labels)) for name, value in added.items() if name.startswith(f"{split}/")}
        classes[split] = predictions.class_scores()
        if len(predicted := np.unique(probabilities.argmax(1))) == 1 < len(np.unique(labels)):
            log.warning(
                "All %s %s texts are predicted as %r: the model does not distinguish the classes. If the classes "
                "differ in size, train with loss.class_weights=balanced; otherwise train longer or with another "
                "optimizer.lr.",
                f"{len(labels):,}",
                split,
                names[predicted[0]],
            )
        if not (path := folder / "baseline" / path.name).exists():
            continue
        baseline = load_predictions(path)
        of_baseline = evaluate(baseline.probabilities, baseline.labels)
        linear |= {f"{split}/{name}": score for name, score in of_baseline.items() if name in scores.keys() - removed}
        if np.array_equal(index, baseline.index):  # not if trainer.limit_test_batches left texts out
            paired = score_differences(probabilities, baseline.probabilities, labels)
            differences |= {f"{split}/{name}": score for name, score in paired.items() if name not in removed}
    return results, classes, Baseline(linear, differences)


def lower_is_better(metrics: MetricCollection) -> tuple[str, ...]:
    """Return the names of the metrics of which lower values are better; a wrapper is what the metric in it is."""
    innermost = {
        str(name): [part for part in metric.modules() if isinstance(part, Metric)][-1]
        for name, metric in metrics.items(keep_base=True)
    }
    return tuple(name for name, metric in innermost.items() if metric.higher_is_better is False)


def print_summary(result: RunResult, folder: Path) -> None:
    """Print the metrics, the class scores of the test split or else of the validation split, and the written files."""
    console, best = OutputConsole(), result.best.describe()
    sections = [scores_section(result.metrics, f"Scores, best {best}" if best else "Scores")]
    if result.split in result.classes:
        sections.append(classes_section(result.classes[result.split], result.split))
    console.print(render_terminal(sections))
    if baseline := baseline_line(result):
        console.print(baseline + "\n")
    written = [path for path in folder.rglob("*") if path.is_file() and not {"wandb", ".hydra"} & set(path.parts)]
    console.print(files_table(folder, written))
    for offline in sorted((folder / "wandb").glob("offline-run-*")):
        console.print(f"Offline W&B run; upload it with: wandb sync {offline}", soft_wrap=True)
