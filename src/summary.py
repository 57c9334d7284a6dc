"""The data of a run and its final metrics with intervals, and their tables on the terminal."""

import sys
from pathlib import Path

from rich.console import Console

from src.analysis.metrics import Metric, evaluate
from src.files.arrays import read_arrays
from src.reports.data_table import data_table
from src.reports.tables import files_table, metric_table
from src.run_result import Data


def final_metrics(folder: Path) -> dict[str, Metric]:
    """All metrics of all predicted splits, by names such as test/acc."""
    metrics: dict[str, Metric] = {}
    for path in sorted((folder / "predictions").glob("*.npz")):
        arrays = read_arrays(path)
        split_metrics = evaluate(
            arrays["probabilities"], arrays["labels"], [str(name) for name in arrays["class_names"]]
        )
        metrics |= {f"{path.stem}/{name}": metric for name, metric in split_metrics.items()}
    return metrics


def print_data(data: Data) -> None:
    """Print the summary of the data."""
    _console().print(data_table(data))


def print_summary(metrics: dict[str, Metric], folder: Path) -> None:
    """Print the metrics of the test split, or of validation without a test, and the written files."""
    tested = {name: metric for name, metric in metrics.items() if name.startswith("test/")}
    console = _console()
    console.print(metric_table(tested or metrics))
    written = [path for path in folder.rglob("*") if path.is_file() and not {"wandb", ".hydra"} & set(path.parts)]
    console.print(files_table(folder, written))
    for offline in sorted((folder / "wandb").glob("offline-run-*")):
        console.print(f"W&B run, offline: to upload it, run wandb sync {offline}", soft_wrap=True)


def _console() -> Console:
    """A console as wide as the terminal, or of 100 columns in a pipe."""
    return Console(width=None if sys.stdout.isatty() else 100)
