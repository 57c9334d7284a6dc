"""Time and memory of a sweep: `python -m benchmarks.sweep --data-path=…`.

together: seconds of the twenty variants as separate processes, one after another, and in one sweep that runs as many
jobs at once as there are cores; and their ratio. memory: the resident memory of the sweep's process after each of many
small jobs, and its growth from the tenth job to the last.
"""

import argparse
import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from benchmarks import command, memory
from src.cli.entry import CONF
from src.errors import UserError
from src.run_result import RESULT_FILE

REVIEWS = 1_000  # for training, and as many for testing
AFTER = 10  # jobs after which all imports and allocations are done
POLL = 0.05  # seconds between two measurements of the sweep's memory


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--only", type=command.names(list(PARTS)), default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument(
        "--at-once",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="simultaneous jobs of the sweep (number of cores)",
    )
    parser.add_argument(
        "--reviews", type=int, default=REVIEWS, help=f"training reviews, and test reviews ({REVIEWS:,})"
    )
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=40, help="jobs of the sweep whose memory is measured (40)")
    options = parser.parse_args(arguments)
    experiment = yaml.safe_load((CONF / "experiment" / "twenty_variants.yaml").read_text(encoding="utf-8"))
    params = experiment["hydra"]["sweeper"]["params"]
    options.choices = {group: choices.split(",") for group, choices in params.items()}
    if options.quick:
        options.choices = {group: names[: 1 + (group == "model/attention")] for group, names in options.choices.items()}
        options.reviews, options.jobs = 60, AFTER + 2
    if min(options.at_once, options.reviews, options.epochs) < 1 or options.jobs <= AFTER:
        parser.error(f"--at-once, --reviews and --epochs must be at least 1, and --jobs above {AFTER}")
    return options


def together(overrides: list[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the seconds of both, and their ratio; the token cache is filled before."""
    common = [*overrides, "experiment=twenty_variants", f"trainer.max_epochs={options.epochs}"]
    choices = options.choices
    products = product(*choices.values())
    variants = [[f"{group}={name}" for group, name in zip(choices, names, strict=True)] for names in products]
    seconds(train([*common, *variants[0], f"hydra.run.dir='{folder / 'first'}'"]))
    start = time.perf_counter()
    for number, variant in enumerate(variants):
        seconds(train([*common, *variant, f"hydra.run.dir='{folder / 'separate' / str(number)}'"]))
    separate = time.perf_counter() - start
    groups = [f"{group}={','.join(values)}" for group, values in choices.items()]
    launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={options.at_once}"]
    together = seconds(train(["-m", *common, *groups, *launcher, f"hydra.sweep.dir='{folder / 'together'}'"]))
    return {"variants": len(variants), "processes, s": separate, "sweep, s": together, "ratio": separate / together}


def growth(overrides: list[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the MB of the sweep's process after each job, and its relative growth after the tenth."""
    sweep = folder / "many"
    small = ["model.encoder.hidden_dim=4", "trainer.max_epochs=1", "callbacks=checkpoints", "logger=csv"]
    process = train(["-m", f"seed=range({options.jobs})", *small, f"hydra.sweep.dir='{sweep}'"])
    after: list[Any] = []
    while process.poll() is None:
        if len(list(sweep.glob(f"*/{RESULT_FILE}"))) > len(after):
            after.append(memory.megabytes("VmRSS", Path(f"/proc/{process.pid}/status")))
        time.sleep(POLL)
    seconds(process)
    return {"after each job, MB": after, "growth after the tenth": after[-1] / after[AFTER - 1] - 1}


PARTS = {"together": together, "memory": growth}


def train(line: list[str]) -> "subprocess.Popen[str]":
    """Start `python -m src.train`."""
    command_line = [sys.executable, "-m", "src.train", *line]
    return subprocess.Popen(
        command_line, cwd=memory.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def seconds(process: "subprocess.Popen[str]") -> float:
    """Wait for a process that was just started, and return its seconds.

    Raises:
        UserError: the process failed.
    """
    start = time.perf_counter()
    _, message = process.communicate()
    if process.returncode:
        raise UserError(f"python -m src.train failed:\n{message.strip()}")
    return time.perf_counter() - start


def table(record: dict[str, Any]) -> Table:
    """Return a table of the measurements."""
    result = command.table("Sweeps", record, ("", "measured"))
    if comparison := record["sweep"].get("together"):
        result.add_row(f"{comparison['variants']} separate processes, s", f"{comparison['processes, s']:.1f}")
        result.add_row(f"one sweep, {record['at_once']} jobs at once, s", f"{comparison['sweep, s']:.1f}")
        result.add_row("ratio of processes to sweep", f"{comparison['ratio']:.2f}")
    if memory_record := record["sweep"].get("memory"):
        after = memory_record["after each job, MB"]
        result.add_row(f"memory after {AFTER} and {len(after)} jobs, MB", f"{after[AFTER - 1]:.0f}, {after[-1]:.0f}")
        result.add_row(f"growth after {AFTER} jobs", f"{memory_record['growth after the tenth']:.1%}")
    return result


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(sys.argv[1:] if arguments is None else arguments)
    reviews = [*command.reviews(options, folder, options.reviews, options.reviews), f"data.limit={options.reviews}"]
    record: dict[str, Any] = {"machine": command.machine(), "data": command.describe_reviews(options), "sweep": {}}
    record["at_once"] = options.at_once
    for part in options.only:
        record["sweep"][part] = PARTS[part](reviews if part == "together" else [], folder, options)
        command.write(options.out, "sweep", record)
    Console().print(table(record))
    print(f"Written to {options.out / 'sweep.json'}")


if __name__ == "__main__":
    command.start(main)
