"""Training speed of Heed and of plain PyTorch: `python -m benchmarks.speed [--bf16] [--device=cuda]`.

Each workload is a model that Heed trains with its data module and Trainer, and that a plain PyTorch loop trains; the
BiLSTM is also trained by a bare loop over Heed's model and batches. The implementations train in turn, each in its own
process; only the bare loop shares the process of Heed. On a GPU, and with --bf16, all implementations use bf16.
"""

import argparse
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
from benchmarks.heed import HeedRunner
from benchmarks.implementation import ImplementationProcess
from benchmarks.measure import Spread, in_turn, ratios
from benchmarks.workloads import BARE, HEED, WORKLOADS
from src.errors import UserError
from src.reports.figures.style import save_figure

TRAIN, TEST = 16_000, 100  # numbers of made-up reviews; enough for batches of similar lengths, as on IMDb
PLAIN_REVIEWS = 1600  # maximum number of reviews of a plain loop
MEMORY_REVIEWS = 320  # reviews of the training whose memory is measured


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument(
        "--bf16", action="store_true", help="train in bf16 on the CPU; on a GPU, training is always in bf16"
    )
    command.add_names(parser, "--works", list(WORKLOADS))
    command.add_turns(parser)
    options = command.parse_turns(parser, arguments, quick_repeats=3)
    options.bf16 = options.bf16 or options.device == "cuda"
    return options


def jobs(
    name: str, overrides: list[str], folder: Path, options: argparse.Namespace, count: int
) -> dict[str, dict[str, Any]]:
    """Return the job of each implementation, Heed first; plain loops train on `count` reviews, all padded alike."""
    heed = HeedRunner(overrides, folder, options.device)  # fills the token cache for all implementations
    common = {
        "work": name,
        "overrides": overrides,
        "folder": str(folder),
        "device": options.device,
        "bf16": options.bf16,
    }
    result = {}
    for number, implementation in enumerate(WORKLOADS[name].implementations):
        rows = folder / f"rows{number}.pt"
        if plain := WORKLOADS[name].plain.get(implementation):
            dataset, vocabulary = padded(*heed.texts(count), plain.length)
            torch.save({"columns": dataset.tensors, "vocabulary": vocabulary}, rows)
        result[implementation] = {**common, "implementation": implementation, "rows": str(rows)}
    return result


def speeds(name: str, jobs: dict[str, dict[str, Any]], options: argparse.Namespace) -> dict[str, list[float]]:
    """Measure the reviews per second of each implementation, in turn."""
    with ExitStack() as stack:
        processes = {key: stack.enter_context(ImplementationProcess(job)) for key, job in jobs.items() if key != BARE}
        for process in processes.values():
            process.ready()
        readers = {key: partial(processes.get(key, processes[HEED]).read, key) for key in jobs}
        return in_turn(readers, options.seconds, options.repeats, WORKLOADS[name].title)


def peaks(jobs: dict[str, dict[str, Any]], device: str) -> dict[str, float | None]:
    """Measure the peak MB of each implementation over MEMORY_REVIEWS reviews: on the GPU, or above the imports."""
    result: dict[str, float | None] = {}
    for implementation, job in jobs.items():
        with ImplementationProcess(job) as process:
            process.ready()
            process.read(implementation, MEMORY_REVIEWS)
            used = process.used()
        result[implementation] = used["on_device"] if device == "cuda" else memory.above_imports(used)
    return result


def measure_workload(name: str, options: argparse.Namespace, data: list[str], folder: Path) -> dict[str, Any]:
    """Return the record of a workload: speed, peak memory and relative speed of Heed for each implementation."""
    workload = WORKLOADS[name]
    overrides = [*workload.overrides, *data, f"trainer.precision={'bf16-mixed' if options.bf16 else '32-true'}"]
    by_name = speeds(name, jobs(name, overrides, folder, options, PLAIN_REVIEWS), options)
    limited = [*overrides, f"data.limit={MEMORY_REVIEWS}"]
    peak = {} if options.quick else peaks(jobs(name, limited, folder, options, MEMORY_REVIEWS), options.device)
    return {
        "work": name,
        "title": workload.title,
        "implementations": [
            {
                "name": key,
                "reviews_per_second": by_name[key],
                "ratio": None if key == HEED else ratios(by_name[HEED], by_name[key]),
                "peak_mb": peak.get(key),
            }
            for key in workload.implementations
        ],
    }


def table(record: dict[str, Any]) -> Table:
    """Return a table of medians and ranges."""
    title = "Training in bf16" if record["bf16"] else "Training"
    result = command.table(title, record, ("", "reviews/s", "speed of Heed, ×", "MB"))
    for workload in record["works"]:
        result.add_section()
        result.add_row(f"[bold]{workload['title']}")
        for row in workload["implementations"]:
            ratio = Spread.of(row["ratio"]).format(2) if row["ratio"] else ""
            peak = "" if row["peak_mb"] is None else f"{row['peak_mb']:,.0f}"
            result.add_row(row["name"], Spread.of(row["reviews_per_second"]).format(0), ratio, peak)
    return result


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device=cuda: torch finds no GPU on this machine; omit the option to train on the CPU")
    data = command.reviews(options, folder, TRAIN, TEST)
    record: dict[str, Any] = {**command.new_record(options, options.device), "bf16": options.bf16, "works": []}
    for name in options.works:
        record["works"].append(measure_workload(name, options, data, folder))
        command.write(options.out, "speed", record)  # after each workload, because the next one may be interrupted
    Console().print(table(record))
    save_figure(draw_speed(record), options.out / "speed.png")
    print(f"Written to {options.out}: speed.json, speed.png")


if __name__ == "__main__":
    command.start(main)
