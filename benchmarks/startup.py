"""CPU seconds until the first training step, and peak memory: `python -m benchmarks.startup --data-path=…`.

The seconds are those from the start of `python -m src.train` to the first training step, on cached reviews, with the
default loggers and callbacks. The memory is the peak of a process that trains for one epoch with validation.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from benchmarks import command, reviews
from benchmarks.measure import Spread
from heedful.runs.result import RunResult

MODEL = ("experiment=twenty_variants", "model/encoder=bilstm", "model/attention=luong_general")
ONE_STEP = ("+trainer.limit_train_batches=1", "+trainer.limit_val_batches=1")
REVIEWS = 25_000  # made-up reviews for training, and as many for testing


class Probe(pl.Callback):
    """Writes the CPU seconds to the first training step to a file: those of all threads, and of child processes."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *batch: Any) -> None:
        if not self.path.exists():
            self.path.write_text(str(sum(os.times()[:4])), encoding="utf-8")


def train(overrides: Sequence[str], run: Path) -> tuple[float, float | None]:
    """Train one epoch without a test; return the CPU seconds to the first step, and the peak MB if it is known."""
    command.train(
        *("trainer.max_epochs=1", "test=false", "~callbacks.progress", f"hydra.run.dir='{run}'"),
        *("+callbacks.probe._target_=benchmarks.startup.Probe", f"+callbacks.probe.path='{run / 'cpu_seconds'}'"),
        *("extras.trusted_modules=[benchmarks]", *overrides),
    )
    return float((run / "cpu_seconds").read_text()), RunResult.load(run).peak_memory_mb.process


def main(folder: Path, arguments: list[str] | None = None) -> None:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--repeats", type=int, default=5, help="number of starts that are measured")
    options = parser.parse_args(arguments)
    count = REVIEWS // 50 if options.quick else REVIEWS
    overrides = [*MODEL, *reviews.overrides(options.data_path, options.hub, folder, count, count)]
    if options.quick:
        overrides.append("data.limit=500")
    starts = [train([*overrides, *ONE_STEP], folder / f"start{number}") for number in range(options.repeats + 1)]
    seconds = [cpu_seconds for cpu_seconds, _ in starts[1:]]  # without the first run, which also tokenizes
    _, peak = train(overrides, folder / "epoch")
    record = {**command.new_record(options), "cpu_seconds": seconds, "peak_mb": peak}
    command.write(options.out, "startup", record)
    table = command.table("Start and memory", record, ("", "median (lowest to highest)"))
    table.add_row("to the first training step, CPU s", Spread.of(seconds).format(2))
    table.add_row("peak memory of one epoch, MB", "not available on this system" if peak is None else f"{peak:,.0f}")
    command.show(table)


if __name__ == "__main__":
    command.start(main)
