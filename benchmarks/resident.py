"""Resident memory by training step: `python -m benchmarks.resident --data-path=… [--settings=shipped,12MB,…]`.

The BiLSTM with Luong's general attention is trained for five epochs with each setting of malloc and of the padded
lengths, in a process of its own. The MB above the imports at every tenth step, and the reviews per second of each
epoch, are recorded.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import command, memory
from benchmarks.charts import draw_resident
from benchmarks.costs import MODEL, REVIEWS, training
from benchmarks.measure import Spread
from src.reports.figures.style import save_figure


class Setting(NamedTuple):
    """Environment variables of the training, and options of the probe."""

    environment: Mapping[str, str] = {}
    probe: tuple[str, ...] = ()


def _malloc(trim: int, mmap: int) -> dict[str, str]:
    return {"MALLOC_TRIM_THRESHOLD_": str(trim), "MALLOC_MMAP_THRESHOLD_": str(mmap)}


NEVER = 2_000_000_000  # bytes
SETTINGS = {
    "shipped": Setting(),  # Heed's default: all freed blocks are reused
    "more-lengths": Setting({}, ("significant_bits=5",)),  # padded lengths are rounded up by at most a sixteenth
    "64MB": Setting(_malloc(NEVER, 64 * 2**20)),  # freed blocks above this size are returned to the system
    "32MB": Setting(_malloc(NEVER, 32 * 2**20)),
    "12MB": Setting(_malloc(NEVER, 12 * 2**20)),
}


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--epochs", type=int, default=5, help="epochs of each training (5)")
    parser.add_argument("--reviews", type=int, help="number of training reviews (all)")
    command.add_names(parser, "--settings", list(SETTINGS), default=["shipped", "12MB"])
    options = parser.parse_args(arguments)
    if options.quick:
        options.reviews, options.epochs = 100, 2
    if options.epochs < 1 or (options.reviews is not None and options.reviews < 1):
        parser.error("--epochs and --reviews must be above 0")
    return options


def measure(setting: Setting, overrides: list[str], folder: Path) -> dict[str, Any]:
    """Train with a setting, and return the memory by step and its peak, in MB above the imports, and the speeds."""
    probe = [f"+callbacks.probe.{option}" for option in setting.probe]
    record = training([*overrides, *probe], folder, setting.environment)
    peak = memory.above_imports(record)
    imports = 0 if peak is None else record["peak"] - peak
    return {
        "resident": [[step, megabytes - imports] for step, megabytes in record["resident"]],
        "peak": peak,
        "reviews_per_second": [record["texts"] / seconds for seconds in record["epochs"]],
    }


def table(record: dict[str, Any]) -> Table:
    result = command.table("Memory", record, ("", "reviews/s of the epochs", "peak MB", "MB after each epoch"))
    for row in record["settings"]:
        peak = "" if row["peak"] is None else f"{row['peak']:,.0f}"
        ends = ", ".join(f"{megabytes:,.0f}" for megabytes in highest_by_epoch(row))
        result.add_row(row["setting"], Spread.of(row["reviews_per_second"]).format(0), peak, ends)
    return result


def highest_by_epoch(row: dict[str, Any]) -> list[float]:
    """Return the highest resident memory up to the end of each epoch; it should not grow after the second epoch."""
    points, epochs = row["resident"], len(row["reviews_per_second"])
    return [
        max(megabytes for _, megabytes in points[: -(-len(points) * epoch // epochs)])
        for epoch in range(1, epochs + 1)
        if points
    ]


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    reviews = options.reviews or REVIEWS
    overrides = [*MODEL, *command.reviews(options, folder, reviews, 100), f"trainer.max_epochs={options.epochs}"]
    overrides.append("~callbacks.early_stopping")
    if options.reviews is not None:
        overrides.append(f"data.limit={options.reviews}")
    record: dict[str, Any] = {**command.new_record(options), "settings": []}
    for name in options.settings:
        record["settings"].append({"setting": name, **measure(SETTINGS[name], overrides, folder)})
        command.write(options.out, "memory", record)
    Console().print(table(record))
    save_figure(draw_resident(record), options.out / "memory.png")
    print(f"Written to {options.out}: memory.json, memory.png")


if __name__ == "__main__":
    command.start(main)
