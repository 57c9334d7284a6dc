"""What a finished run shows: final numbers with intervals, and a table on the terminal."""

import sys
from pathlib import Path

from rich.console import Console

from src.analysis.metrics import Metric, evaluate
from src.files.arrays import read_arrays
from src.reports.tables import files_table, metric_table


def final_metrics(folder: Path) -> dict[str, Metric]:
    """Every metric of every split that was predicted, by names such as test/acc."""
    metrics: dict[str, Metric] = {}
    for path in sorted((folder / "predictions").glob("*.npz")):
        arrays = read_arrays(path)
        found = evaluate(arrays["probabilities"], arrays["labels"], [str(name) for name in arrays["class_names"]])
        metrics |= {f"{path.stem}/{name}": metric for name, metric in found.items()}
    return metrics


def print_summary(metrics: dict[str, Metric], folder: Path) -> None:
    """Print the test metrics, or validation's where nothing was tested, and every file that was written."""
    tested = {name: metric for name, metric in metrics.items() if name.startswith("test/")}
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print(metric_table(tested or metrics))
    written = [path for path in folder.rglob("*") if path.is_file() and not {"wandb", ".hydra"} & set(path.parts)]
    console.print(files_table(folder, written))
    for offline in sorted((folder / "wandb").glob("offline-run-*")):
        console.print(f"W&B, kept offline: wandb sync {offline}", soft_wrap=True)
