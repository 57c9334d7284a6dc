"""What a sweep saves and what it keeps: `python -m benchmarks.sweep --data-path=…`.

together: seconds of the twenty variants as separate processes, one after another, over their seconds in one sweep
that runs as many jobs at once as there are cores. memory: the sweep's own resident memory after each of many small
jobs, and how much it grows from the tenth to the last.
"""

import argparse
import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import command, memory
from src.cli.entry import CONF
from src.cli.presets import grid
from src.errors import UserError

REVIEWS = 1_000  # to train on, and as many to test on
AFTER = 10  # jobs, by which all has been imported and reserved that ever will be
POLL = 0.05  # seconds between two looks at the sweep's memory


def arguments(given: list[str]) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--only", type=command.names(list(PARTS)), default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--at-once", type=int, default=len(os.sched_getaffinity(0)), help="jobs of the sweep (cores)")
    parser.add_argument("--reviews", type=int, default=REVIEWS, help=f"to train on, and to test on ({REVIEWS:,})")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=40, help="of the sweep whose memory is watched")
    options = parser.parse_args(given)
    options.choices = grid(CONF)
    if options.quick:
        options.choices = {group: some[: 1 + (group == "model/attention")] for group, some in options.choices.items()}
        options.reviews, options.jobs = 60, AFTER + 2
    if min(options.at_once, options.reviews, options.epochs) < 1 or options.jobs <= AFTER:
        parser.error(f"--at-once, --reviews and --epochs must be at least 1, and --jobs above {AFTER}")
    return options


def together(overrides: list[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds either way, and their ratio; the reviews are tokenized before."""
    given = [*overrides, "experiment=twenty_variants", f"trainer.max_epochs={options.epochs}"]
    choices = options.choices
    variants = [[f"{group}={one}" for group, one in zip(choices, v, strict=True)] for v in product(*choices.values())]
    seconds(train([*given, *variants[0], f"hydra.run.dir='{folder / 'first'}'"]))
    start = time.perf_counter()
    for number, variant in enumerate(variants):
        seconds(train([*given, *variant, f"hydra.run.dir='{folder / 'apart' / str(number)}'"]))
    apart = time.perf_counter() - start
    groups = [f"{group}={','.join(values)}" for group, values in choices.items()]
    launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={options.at_once}"]
    one = seconds(train(["-m", *given, *groups, *launcher, f"hydra.sweep.dir='{folder / 'together'}'"]))
    return {"variants": len(variants), "processes, s": apart, "sweep, s": one, "ratio": apart / one}


def growth(overrides: list[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """MB of the sweep's own process after each job, and its growth after the tenth as a fraction."""
    sweep = folder / "many"
    small = ["model.encoder.hidden_dim=4", "trainer.max_epochs=1", "callbacks=checkpoints", "logger=csv"]
    process = train(["-m", f"seed=range({options.jobs})", *small, f"hydra.sweep.dir='{sweep}'"])
    after: list[Any] = []
    while process.poll() is None:
        if len(list(sweep.glob("*/result.json"))) > len(after):
            after.append(memory.megabytes("VmRSS", Path(f"/proc/{process.pid}/status")))
        time.sleep(POLL)
    seconds(process)
    return {"after each job, MB": after, "growth after the tenth": after[-1] / after[AFTER - 1] - 1}


PARTS = {"together": together, "memory": growth}


def train(line: list[str]) -> "subprocess.Popen[str]":
    """`python -m src.train`, started."""
    command_line = [sys.executable, "-m", "src.train", *line]
    return subprocess.Popen(
        command_line, cwd=memory.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def seconds(process: "subprocess.Popen[str]") -> float:
    """How long a process that was just started takes.

    Raises:
        UserError: it failed.
    """
    start = time.perf_counter()
    _, said = process.communicate()
    if process.returncode:
        raise UserError(f"python -m src.train failed:\n{said.strip()}")
    return time.perf_counter() - start


def table(record: dict[str, Any]) -> Table:
    shown = command.table("Sweeps", record, ("", "measured"))
    if found := record["sweep"].get("together"):
        shown.add_row(f"{found['variants']} separate processes, s", f"{found['processes, s']:.1f}")
        shown.add_row(f"one sweep, {record['at_once']} jobs at once, s", f"{found['sweep, s']:.1f}")
        shown.add_row("processes over sweep", f"{found['ratio']:.2f}")
    if found := record["sweep"].get("memory"):
        after = found["after each job, MB"]
        shown.add_row(f"memory after {AFTER} and {len(after)} jobs, MB", f"{after[AFTER - 1]:.0f}, {after[-1]:.0f}")
        shown.add_row(f"growth after {AFTER} jobs", f"{found['growth after the tenth']:.1%}")
    return shown


def main(folder: Path, given: list[str] | None = None) -> None:
    options = arguments(sys.argv[1:] if given is None else given)
    reviews = [*command.reviews(options, folder, options.reviews, options.reviews), f"data.limit={options.reviews}"]
    record: dict[str, Any] = {"machine": command.machine(), "data": command.described(options), "sweep": {}}
    record["at_once"] = options.at_once
    for part in options.only:
        record["sweep"][part] = PARTS[part](reviews if part == "together" else [], folder, options)
        command.write(options.out, "sweep", record)
    Console().print(table(record))
    print(f"Written to {options.out / 'sweep.json'}")


if __name__ == "__main__":
    command.start(main)
