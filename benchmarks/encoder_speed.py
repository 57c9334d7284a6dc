"""Speed of a recurrent encoder at several text lengths: `python -m benchmarks.encoder_speed`.

A training step is forward and backward through one layer with 128 features, over a batch of 32 texts without padding
whose tokens have 50 features. The encoders take turns in one process.
"""

import time
from pathlib import Path

import torch

from benchmarks import command
from benchmarks.measure import Spread, in_turn
from heedful.models.encoder.recurrent import Recurrent

TEXTS, FEATURES = 32, 50
LENGTHS = (128, 512, 2_048)
CELLS = ("lstm", "gru", "mingru")


class TrainingSteps:
    """Runs training steps of an encoder until this number of texts is read, and returns the texts per second."""

    def __init__(self, cell: str, length: int, bidirectional: bool) -> None:
        self.encoder = Recurrent(FEATURES, cell=cell, bidirectional=bidirectional)  # type: ignore[arg-type]
        self.states = torch.randn(TEXTS, length, FEATURES)
        self.mask = torch.ones(TEXTS, length, dtype=torch.bool)

    def __call__(self, texts: int) -> float:
        steps = max(1, round(texts / TEXTS))
        start = time.perf_counter()
        for _ in range(steps):
            self.encoder(self.states, self.mask).states.sum().backward()
        return steps * TEXTS / (time.perf_counter() - start)


def main(folder: Path, arguments: list[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--bidirectional", action="store_true", help="read the texts in both directions")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds of one measurement")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each encoder, in turn")
    options = parser.parse_args(arguments)
    if options.quick:
        options.seconds, options.repeats = 0.01, 1
    speeds = {
        length: in_turn(
            {cell: TrainingSteps(cell, length, options.bidirectional) for cell in CELLS},
            *(options.seconds, options.repeats, f"{length} tokens"),
        )
        for length in LENGTHS
    }
    record = {"machine": command.machine(), "data": f"batches of {TEXTS} texts", "texts_per_second": speeds}
    command.write(options.out, "encoder_speed", record)
    table = command.table("Encoders, texts/s", record, ("tokens", *CELLS, "mingru / lstm"))
    for length, cells in speeds.items():
        ratios = [mingru / lstm for mingru, lstm in zip(cells["mingru"], cells["lstm"], strict=True)]
        texts = [Spread.of(cells[cell]).format(0) for cell in CELLS]
        table.add_row(f"{length:,}", *texts, Spread.of(ratios).format(2))
    command.show(table)


if __name__ == "__main__":
    command.start(main)
