"""Time, rate and memory of a sweep: `python -m benchmarks.sweep --data-path=…`.

together: seconds of the twenty variants as separate processes, one after another, and as one sweep that runs one job
per core at once; and the ratio of the two. rate: training reviews per second of the whole machine, including start-up,
in two kinds of sweeps over the twenty variants, in turn: one job at a time on all cores, and one job per core, with
one thread each. memory: resident memory of the sweep's process after each of many small jobs, and its growth from the
tenth job to the last.
"""

import argparse
import os
import time
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from benchmarks import command, memory
from benchmarks.measure import Spread
from benchmarks.training import start_training, wait
from src.cli.entry import CONF
from src.run_result import RESULT_FILE

REVIEWS = 1_000  # training reviews, and the same number of test reviews
AFTER = 10  # number of jobs after which memory should no longer grow
BATCHES, BATCH = 250, 32  # training batches of each job of `rate`, and texts in a batch
POLL = 0.05  # seconds between two measurements of the sweep's memory


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    command.add_names(parser, "--only", list(PARTS))
    parser.add_argument(
        "--at-once",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="number of simultaneous jobs in a sweep (number of cores)",
    )
    parser.add_argument(
        "--reviews", type=int, default=REVIEWS, help=f"number of training reviews, and of test reviews ({REVIEWS:,})"
    )
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3, help="number of sweeps of each kind for the rate (3)")
    parser.add_argument(
        "--batches",
        type=int,
        default=BATCHES,
        help=f"number of training batches of {BATCH} reviews in each job of the rate, at most 703 ({BATCHES})",
    )
    parser.add_argument("--jobs", type=int, default=40, help="number of jobs for the measurement of memory (40)")
    options = parser.parse_args(arguments)
    experiment = yaml.safe_load((CONF / "experiment" / "twenty_variants.yaml").read_text(encoding="utf-8"))
    params = experiment["hydra"]["sweeper"]["params"]
    options.choices = {group: choices.split(",") for group, choices in params.items()}
    if options.quick:
        options.choices = {group: names[: 1 + (group == "model/attention")] for group, names in options.choices.items()}
        options.reviews, options.jobs, options.turns, options.batches = 60, AFTER + 2, 1, 5
    counts = ("at_once", "reviews", "epochs", "turns", "batches")
    if min(getattr(options, name) for name in counts) < 1 or options.jobs <= AFTER:
        spellings = ", ".join(f"--{name.replace('_', '-')}" for name in counts)
        parser.error(f"{spellings} must be at least 1, and --jobs above {AFTER}")
    return options


def together(overrides: list[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the seconds of separate processes and of a sweep, after the token cache is filled, and the ratio."""
    common = [*overrides, "experiment=twenty_variants", f"trainer.max_epochs={options.epochs}"]
    choices = options.choices
    products = product(*choices.values())
    variants = [[f"{group}={name}" for group, name in zip(choices, names, strict=True)] for names in products]
    wait(start_training([*common, *variants[0], f"hydra.run.dir='{folder / 'first'}'"]))
    start = time.perf_counter()
    for number, variant in enumerate(variants):
        wait(start_training([*common, *variant, f"hydra.run.dir='{folder / 'separate' / str(number)}'"]))
    separate = time.perf_counter() - start
    groups = [f"{group}={','.join(values)}" for group, values in choices.items()]
    launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={options.at_once}"]
    sweep = wait(start_training(["-m", *common, *groups, *launcher, f"hydra.sweep.dir='{folder / 'together'}'"]))
    return {"variants": len(variants), "processes, s": separate, "sweep, s": sweep, "ratio": separate / sweep}


def rate(overrides: list[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the training reviews per second of the machine by number of jobs and threads, in turn."""
    cores, batches = options.at_once, options.batches
    model = ["experiment=report", *(f"{group}={','.join(names)}" for group, names in options.choices.items())]
    work = [
        "trainer.max_epochs=1",
        f"+trainer.limit_train_batches={batches}",
        "+trainer.limit_val_batches=1",
        "test=false",
    ]
    jobs = len(list(product(*options.choices.values())))
    modes = {f"1 × {cores}": 1, f"{cores} × 1": cores}
    rates: dict[str, list[float]] = {mode: [] for mode in modes}
    for turn, (mode, number) in product(range(options.turns), modes.items()):
        launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={number}"] if number > 1 else []
        sweep = f"hydra.sweep.dir='{folder / f'rate_{turn}_{number}'}'"
        duration = wait(start_training(["-m", *overrides, *model, *work, *launcher, "logger=csv", sweep]))
        rates[mode].append(jobs * batches * BATCH / duration)
    return {"jobs": jobs, "reviews of each": batches * BATCH, "reviews/s by jobs × threads": rates}


def growth(overrides: list[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the MB of the sweep's process after each job, and the relative growth after the tenth job."""
    sweep = folder / "many"
    small = ["model.encoder.hidden_dim=4", "trainer.max_epochs=1", "callbacks=checkpoints", "logger=csv"]
    process = start_training(["-m", f"seed=range({options.jobs})", *small, f"hydra.sweep.dir='{sweep}'"])
    status = Path(f"/proc/{process.pid}/status")
    resident: float | None = None
    after: list[Any] = []
    ended = False
    while not ended:
        ended = process.poll() is not None
        resident = memory.megabytes("VmRSS", status) or resident  # after the end of the process, the last measurement
        finished = len(list(sweep.glob(f"*/{RESULT_FILE}")))
        after += [resident] * (finished - len(after))
        time.sleep(POLL)
    wait(process)
    return {"after each job, MB": after, "growth after the tenth": after[-1] / after[AFTER - 1] - 1}


PARTS = {"together": together, "rate": rate, "memory": growth}


def table(record: dict[str, Any]) -> Table:
    """Return a table of the measurements."""
    result = command.table("Sweeps", record, ("", "measured"))
    if comparison := record["sweep"].get("together"):
        result.add_row(f"{comparison['variants']} separate processes, s", f"{comparison['processes, s']:.1f}")
        result.add_row(f"one sweep, {record['at_once']} jobs at once, s", f"{comparison['sweep, s']:.1f}")
        result.add_row("ratio of processes to sweep", f"{comparison['ratio']:.2f}")
    if rates := record["sweep"].get("rate"):
        for mode, values in rates["reviews/s by jobs × threads"].items():
            result.add_row(f"reviews/s of the machine, {mode} (jobs × threads)", Spread.of(values).format(0))
    if memory_record := record["sweep"].get("memory"):
        after = memory_record["after each job, MB"]
        result.add_row(f"memory after {AFTER} and {len(after)} jobs, MB", f"{after[AFTER - 1]:.0f}, {after[-1]:.0f}")
        result.add_row(f"growth after {AFTER} jobs", f"{memory_record['growth after the tenth']:.1%}")
    return result


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    reviews = [*command.reviews(options, folder, options.reviews, options.reviews), f"data.limit={options.reviews}"]
    record: dict[str, Any] = {**command.new_record(options), "at_once": options.at_once, "sweep": {}}
    for part in options.only:
        sources = {"together": reviews, "rate": reviews[:-1], "memory": []}  # rate: all reviews
        record["sweep"][part] = PARTS[part](sources[part], folder, options)
        command.write(options.out, "sweep", record)
    Console().print(table(record))
    print(f"Written to {options.out / 'sweep.json'}")


if __name__ == "__main__":
    command.start(main)
