"""Training speed against plain PyTorch, in turn in one run: `python -m benchmarks.speed [--bf16] [--device=cuda]`.

Each work is a model that Heed trains through its own data module and Trainer, and a competent user in a plain loop;
of the BiLSTM also a bare loop over Heed's own model and batches. Each has a process of its own, which waits while
others train; the bare loop shares Heed's. On a GPU, and with --bf16, all train in bf16.
"""

import argparse
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import command, memory
from benchmarks.charts import draw_speed
from benchmarks.contestant import Contestant
from benchmarks.measure import Spread, in_turn, ratios
from benchmarks.ours import Ours
from benchmarks.works import BARE, HEED, WORKS
from benchmarks.yardsticks import padded
from src.errors import UserError
from src.reports.figures.style import save_figure

TRAIN, TEST = 16_000, 100  # made-up reviews: enough for the buckets to be as fine as in IMDb
PLAIN = 1600  # reviews that a plain loop has, at most
WEIGHED = 320  # reviews that each process trains on whose memory is measured


def arguments(given: list[str]) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--bf16", action="store_true", help="train in mixed precision on the CPU, too")
    parser.add_argument("--works", type=command.names(list(WORKS)), default=list(WORKS), help=", ".join(WORKS))
    command.add_turns(parser)
    options = command.turns(parser, given, quick_repeats=3)
    options.bf16 = options.bf16 or options.device == "cuda"
    return options


def jobs(
    name: str, overrides: list[str], folder: Path, options: argparse.Namespace, count: int
) -> dict[str, dict[str, Any]]:
    """The job of each contestant, Heed first; plain loops have `count` of Heed's reviews, cut and padded their way."""
    ours = Ours(overrides, folder, options.device)  # tokenizes, so that no contestant has to
    where = {"folder": str(folder), "device": options.device, "bf16": options.bf16}
    common = {"work": name, "overrides": overrides, **where}
    found = {}
    for number, contestant in enumerate(WORKS[name].contestants):
        rows = folder / f"rows{number}.pt"
        if plain := WORKS[name].plain.get(contestant):
            dataset, vocabulary = padded(*ours.texts(count), plain.length)
            torch.save({"columns": dataset.tensors, "vocabulary": vocabulary}, rows)
        found[contestant] = {**common, "contestant": contestant, "rows": str(rows)}
    return found


def speeds(name: str, jobs: dict[str, dict[str, Any]], options: argparse.Namespace) -> dict[str, list[float]]:
    """Reviews a second of each, in turn."""
    with ExitStack() as stack:
        processes = {each: stack.enter_context(Contestant(job)) for each, job in jobs.items() if each != BARE}
        for process in processes.values():
            process.ready()
        readers = {each: partial(processes.get(each, processes[HEED]).read, each) for each in jobs}
        return in_turn(readers, options.seconds, options.repeats, WORKS[name].title)


def peaks(jobs: dict[str, dict[str, Any]], device: str) -> dict[str, float | None]:
    """Peak memory in MB of each after WEIGHED reviews: above its imports, or on the GPU."""
    found: dict[str, float | None] = {}
    for contestant, job in jobs.items():
        with Contestant(job) as process:
            process.ready()
            process.read(contestant, WEIGHED)
            used = process.used()
        found[contestant] = used["on_device"] if device == "cuda" else memory.above_imports(used)
    return found


def measured(name: str, options: argparse.Namespace, data: list[str], folder: Path) -> dict[str, Any]:
    """One work's record: the speeds and peak memory of every contestant, and how often Heed's the others' speed is."""
    work = WORKS[name]
    overrides = [*work.overrides, *data, f"trainer.precision={'bf16-mixed' if options.bf16 else '32-true'}"]
    every = speeds(name, jobs(name, overrides, folder, options, PLAIN), options)
    few = [*overrides, f"data.limit={WEIGHED}"]
    peak = {} if options.quick else peaks(jobs(name, few, folder, options, WEIGHED), options.device)
    return {
        "work": name,
        "title": work.title,
        "contestants": [
            {
                "name": contestant,
                "reviews_per_second": every[contestant],
                "ratio": None if contestant == HEED else ratios(every[HEED], every[contestant]),
                "peak_mb": peak.get(contestant),
            }
            for contestant in work.contestants
        ],
    }


def table(record: dict[str, Any]) -> Table:
    """Medians, with the lowest and the highest."""
    title = "Training in bf16" if record["bf16"] else "Training"
    shown = command.table(title, record, ("", "reviews/s", "Heed is × as fast", "MB"))
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
        "bf16": options.bf16,
        "data": command.described(options),
        "works": [],
    }
    for name in options.works:
        record["works"].append(measured(name, options, data, folder))
        command.write(options.out, "speed", record)  # at once: the next may be interrupted
    Console().print(table(record))
    save_figure(draw_speed(record), options.out / "speed.png")
    print(f"Written to {options.out}: speed.json, speed.png")


if __name__ == "__main__":
    command.start(main)
