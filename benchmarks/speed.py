"""Training speed against plain PyTorch, in turn in one run: `python -m benchmarks.speed [--bf16] [--device=cuda]`.

Each workload is a model that is trained by Heed's data module and Trainer, and by a plain PyTorch loop; for the BiLSTM
also by a bare loop over Heed's model and batches. Each contestant has its own process, which waits while others train;
the bare loop shares Heed's. On a GPU, and with --bf16, all contestants use bf16.
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
from benchmarks.baselines import padded
from benchmarks.charts import draw_speed
from benchmarks.contestant import Contestant
from benchmarks.heed import HeedRunner
from benchmarks.measure import Spread, in_turn, ratios
from benchmarks.workloads import BARE, HEED, WORKLOADS
from src.errors import UserError
from src.reports.figures.style import save_figure

TRAIN, TEST = 16_000, 100  # made-up reviews: enough for length buckets as fine as those of IMDb
PLAIN_REVIEWS = 1600  # maximum number of reviews of a plain loop
MEMORY_REVIEWS = 320  # reviews of the training whose memory is measured


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--bf16", action="store_true", help="also train in bf16 on the CPU")
    parser.add_argument(
        "--works", type=command.names(list(WORKLOADS)), default=list(WORKLOADS), help=", ".join(WORKLOADS)
    )
    command.add_turns(parser)
    options = command.parse_turns(parser, arguments, quick_repeats=3)
    options.bf16 = options.bf16 or options.device == "cuda"
    return options


def jobs(
    name: str, overrides: list[str], folder: Path, options: argparse.Namespace, count: int
) -> dict[str, dict[str, Any]]:
    """Return the job of each contestant, Heed first; plain loops have `count` reviews, padded to a fixed length."""
    heed = HeedRunner(overrides, folder, options.device)  # fills the token cache for all contestants
    common = {
        "work": name,
        "overrides": overrides,
        "folder": str(folder),
        "device": options.device,
        "bf16": options.bf16,
    }
    result = {}
    for number, contestant in enumerate(WORKLOADS[name].contestants):
        rows = folder / f"rows{number}.pt"
        if plain := WORKLOADS[name].plain.get(contestant):
            dataset, vocabulary = padded(*heed.texts(count), plain.length)
            torch.save({"columns": dataset.tensors, "vocabulary": vocabulary}, rows)
        result[contestant] = {**common, "contestant": contestant, "rows": str(rows)}
    return result


def speeds(name: str, jobs: dict[str, dict[str, Any]], options: argparse.Namespace) -> dict[str, list[float]]:
    """Measure the reviews per second of each contestant, in turn."""
    with ExitStack() as stack:
        processes = {key: stack.enter_context(Contestant(job)) for key, job in jobs.items() if key != BARE}
        for process in processes.values():
            process.ready()
        readers = {key: partial(processes.get(key, processes[HEED]).read, key) for key in jobs}
        return in_turn(readers, options.seconds, options.repeats, WORKLOADS[name].title)


def peaks(jobs: dict[str, dict[str, Any]], device: str) -> dict[str, float | None]:
    """Measure the peak MB of each contestant after MEMORY_REVIEWS reviews: above its imports, or on the GPU."""
    result: dict[str, float | None] = {}
    for contestant, job in jobs.items():
        with Contestant(job) as process:
            process.ready()
            process.read(contestant, MEMORY_REVIEWS)
            used = process.used()
        result[contestant] = used["on_device"] if device == "cuda" else memory.above_imports(used)
    return result


def measure_workload(name: str, options: argparse.Namespace, data: list[str], folder: Path) -> dict[str, Any]:
    """Return the record of a workload: speed and peak memory of every contestant, and the ratios of Heed's speed."""
    workload = WORKLOADS[name]
    overrides = [*workload.overrides, *data, f"trainer.precision={'bf16-mixed' if options.bf16 else '32-true'}"]
    by_contestant = speeds(name, jobs(name, overrides, folder, options, PLAIN_REVIEWS), options)
    limited = [*overrides, f"data.limit={MEMORY_REVIEWS}"]
    peak = {} if options.quick else peaks(jobs(name, limited, folder, options, MEMORY_REVIEWS), options.device)
    return {
        "work": name,
        "title": workload.title,
        "contestants": [
            {
                "name": contestant,
                "reviews_per_second": by_contestant[contestant],
                "ratio": None if contestant == HEED else ratios(by_contestant[HEED], by_contestant[contestant]),
                "peak_mb": peak.get(contestant),
            }
            for contestant in workload.contestants
        ],
    }


def table(record: dict[str, Any]) -> Table:
    """Return a table of the medians with their ranges."""
    title = "Training in bf16" if record["bf16"] else "Training"
    result = command.table(title, record, ("", "reviews/s", "speed of Heed, ×", "MB"))
    for workload in record["works"]:
        result.add_section()
        result.add_row(f"[bold]{workload['title']}")
        for row in workload["contestants"]:
            ratio = Spread.of(row["ratio"]).format(2) if row["ratio"] else ""
            peak = "" if row["peak_mb"] is None else f"{row['peak_mb']:,.0f}"
            result.add_row(row["name"], Spread.of(row["reviews_per_second"]).format(0), ratio, peak)
    return result


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(sys.argv[1:] if arguments is None else arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device=cuda: torch finds no GPU on this machine; omit the option to measure the CPU")
    data = command.reviews(options, folder, TRAIN, TEST)
    record: dict[str, Any] = {
        "machine": command.machine(options.device),
        "bf16": options.bf16,
        "data": command.describe_reviews(options),
        "works": [],
    }
    for name in options.works:
        record["works"].append(measure_workload(name, options, data, folder))
        command.write(options.out, "speed", record)  # after each workload, because the next may be interrupted
    Console().print(table(record))
    save_figure(draw_speed(record), options.out / "speed.png")
    print(f"Written to {options.out}: speed.json, speed.png")


if __name__ == "__main__":
    command.start(main)
