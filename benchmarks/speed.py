"""Training speed against plain PyTorch, interleaved in one run: `python -m benchmarks.speed [--device=cuda]`.

Each work is a model that Heed trains through its own data module and Trainer, and a competent user in a plain loop;
of the BiLSTM also a bare loop over Heed's own model and batches. On a GPU all train in bf16.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import command, memory
from benchmarks.charts import draw_speed
from benchmarks.measure import Reader, Spread, in_turn, ratios
from benchmarks.ours import Ours, evenly
from benchmarks.works import BARE, HEED, WORKS, Work
from benchmarks.yardsticks import Plain, padded, train
from src.errors import UserError
from src.reports.pictures.style import save

TRAIN, TEST = 16_000, 100  # made-up reviews: enough for the buckets to be as fine as in IMDb
PLAIN = 1600  # reviews that a plain loop has, at most
WEIGHED = 320  # reviews that each process trains on whose memory is measured


def arguments(given: list[str]) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--works", type=command.names(list(WORKS)), default=list(WORKS), help=", ".join(WORKS))
    command.add_turns(parser)
    return command.turns(parser, given, quick_repeats=3)


def contestants(work: Work, ours: Ours) -> dict[str, Reader]:
    """What trains this model, Heed first."""
    readers: dict[str, Reader] = {HEED: ours.train}
    for name, plain in work.plain.items():
        readers[name] = plain_reader(plain, ours)
    if work.bare:
        readers[BARE] = ours.train_bare
    return readers


def plain_reader(plain: Plain, ours: Ours) -> Reader:
    """A plain loop over reviews of Heed's, cut and padded its own way."""
    dataset, vocabulary = padded(*ours.texts(PLAIN), plain.length)
    by_length = dataset.tensors[1].argsort()
    model = plain.model(vocabulary).to(ours.device)

    def read(reviews: int) -> float:
        rows = evenly(by_length.numpy(), reviews)
        some = torch.utils.data.TensorDataset(*(column[rows] for column in dataset.tensors))
        return train(model, plain.loss, some, ours.device)

    return read


def peaks(name: str, overrides: list[str], folder: Path, device: str) -> dict[str, float | None]:
    """Peak memory in MB of each contestant alone: above its imports, or on the GPU."""
    overrides = [*overrides, f"data.limit={WEIGHED}"]
    ours = Ours(overrides, folder, device)  # tokenizes, so that no process has to
    rows = folder / "rows.pt"
    job = {"work": name, "overrides": overrides, "folder": str(folder), "device": device, "rows": str(rows)}
    found: dict[str, float | None] = {}
    for contestant in WORKS[name].contestants:
        if plain := WORKS[name].plain.get(contestant):
            dataset, vocabulary = padded(*ours.texts(WEIGHED), plain.length)
            torch.save({"columns": dataset.tensors, "vocabulary": vocabulary}, rows)
        used = memory.run("benchmarks.contestant", {**job, "contestant": contestant})
        found[contestant] = used["on_device"] if device == "cuda" else memory.above_imports(used)
    return found


def measured(name: str, options: argparse.Namespace, data: list[str], folder: Path) -> dict[str, Any]:
    """One work's record: the speeds and peak memory of every contestant, and how often Heed's the others' speed is."""
    work = WORKS[name]
    overrides = [*work.overrides, *data]
    ours = Ours(overrides, folder, options.device)
    speeds = in_turn(contestants(work, ours), options.seconds, options.repeats, work.title)
    peak = {} if options.quick else peaks(name, overrides, folder, options.device)
    return {
        "work": name,
        "title": work.title,
        "contestants": [
            {
                "name": contestant,
                "reviews_per_second": speeds[contestant],
                "ratio": None if contestant == HEED else ratios(speeds[HEED], speeds[contestant]),
                "peak_mb": peak.get(contestant),
            }
            for contestant in work.contestants
        ],
    }


def table(record: dict[str, Any]) -> Table:
    """Medians, with the lowest and the highest."""
    shown = command.table("Training", record, ("", "reviews/s", "Heed is × as fast", "MB"))
    for work in record["works"]:
        shown.add_section()
        shown.add_row(f"[bold]{work['title']}")
        for row in work["contestants"]:
            ratio = Spread.of(row["ratio"]).show(2) if row["ratio"] else ""
            peak = "" if row["peak_mb"] is None else f"{row['peak_mb']:,.0f}"
            shown.add_row(row["name"], Spread.of(row["reviews_per_second"]).show(0), ratio, peak)
    return shown


def main(folder: Path, given: list[str] | None = None) -> None:
    options = arguments(sys.argv[1:] if given is None else given)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device=cuda: torch finds no GPU here; leave it out to measure the CPU")
    data = command.reviews(options, folder, TRAIN, TEST)
    record: dict[str, Any] = {
        "machine": command.machine(options.device),
        "data": command.described(options),
        "works": [],
    }
    for name in options.works:
        record["works"].append(measured(name, options, data, folder))
        command.write(options.out, "speed", record)  # at once: the next may be interrupted
    Console().print(table(record))
    save(draw_speed(record), options.out / "speed.png")
    print(f"Written to {options.out}: speed.json, speed.png")


if __name__ == "__main__":
    command.start(main)
