"""What Heed takes besides training steps: `python -m benchmarks.costs --data-path=…`.

steps: evaluation and prediction, in reviews a second, over a training step. tokenizing: seconds to tokenize all
reviews, the first time and from the cache. start: CPU seconds from `python -m src.train` to the first training step on
cached reviews. memory: peak of a training of one epoch, above what its imports take. optimizer: a step of torch's
Adagrad and of ours over the rows that a batch of experiment=speedrun reads.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import command, memory
from benchmarks.measure import Reader, Spread, in_turn, ratios
from src.errors import UserError
from src.kernels.malloc import reuse_freed_memory
from src.optim.adagrad import Adagrad

MODEL = ("experiment=twenty_variants", "model/encoder=bilstm", "model/attention=luong_general")
REVIEWS = 25_000  # made-up ones to train on, and as many to test on
ROWS, WIDTH, READ = 2_100_000, 8, 26_000  # of a speedrun's table, and n-grams in a batch of it


def arguments(given: list[str]) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--only", type=command.names(list(PARTS)), default=list(PARTS), help=", ".join(PARTS))
    command.add_turns(parser, "of one measurement of `steps` and `optimizer`")
    return command.turns(parser, given, quick_repeats=2)


def steps(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Reviews a second of each, in turn in one process, and the last two over the first."""
    reuse_freed_memory()
    from benchmarks.ours import Ours  # makes torch's first tensors

    ours = Ours(overrides, folder)
    readers = {"training": ours.train, "evaluation": ours.evaluate, "prediction": ours.predict}
    speeds = in_turn(readers, options.seconds, options.repeats, "Steps")
    over = {name: ratios(speeds[name], speeds["training"]) for name in ("evaluation", "prediction")}
    return {
        **{f"{name}, reviews/s": values for name, values in speeds.items()},
        **{f"{name} over training": values for name, values in over.items()},
    }


def tokenizing(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds, the first time and from the cache, each in a process of its own."""
    first, cached = [], []
    for repeat in range(options.repeats):
        empty = [*overrides, f"data.cache_dir='{folder / f'empty{repeat}'}'"]
        job = {"overrides": empty, "folder": str(folder)}
        first.append(memory.run("benchmarks.tokenizing", job)["seconds"])
        cached.append(memory.run("benchmarks.tokenizing", job)["seconds"])
    return {"first time, s": first, "cached, s": cached}


def start(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """CPU seconds to the first step of a training with the loggers and callbacks of a user's run."""
    short = [*overrides, "+trainer.limit_train_batches=1", "+trainer.limit_val_batches=1", "trainer.max_epochs=1"]
    found = [training(short, folder)["cpu_seconds"] for _ in range(options.repeats + 1)]
    return {"to the first training step, CPU s": found[1:]}  # the first tokenized


def peak(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """MB of a whole training of one epoch, validation included."""
    training([*overrides, "+trainer.limit_train_batches=1", "+trainer.limit_val_batches=1"], folder)  # tokenizes
    return {"peak above the imports, MB": [memory.above_imports(training(overrides, folder))]}


def optimizer(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Steps a second of each, in turn in one process, and ours over torch's."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(ROWS, (1, READ), generator=generator)
    values = torch.randn(READ, WIDTH, generator=generator)
    gradient = torch.sparse_coo_tensor(rows, values, (ROWS, WIDTH), check_invariants=True)

    def reader(kind: type[torch.optim.Optimizer]) -> Reader:
        table = torch.nn.Parameter(torch.zeros(ROWS, WIDTH))
        made = kind([table])

        def read(steps: int) -> float:
            start = time.perf_counter()
            for _ in range(steps):
                table.grad = gradient
                made.step()
            return steps / (time.perf_counter() - start)

        return read

    speeds = in_turn(
        {"ours": reader(Adagrad), "torch's": reader(torch.optim.Adagrad)}, options.seconds, options.repeats
    )
    milliseconds = {f"{name}, ms": [1000 / speed for speed in values] for name, values in speeds.items()}
    return {**milliseconds, "ours over torch's": ratios(speeds["ours"], speeds["torch's"])}


PARTS: dict[str, Callable[[Sequence[str], Path, argparse.Namespace], dict[str, Any]]] = {
    "steps": steps,
    "tokenizing": tokenizing,
    "start": start,
    "memory": peak,
    "optimizer": optimizer,
}


def training(overrides: Sequence[str], folder: Path) -> dict[str, Any]:
    """What the probe saw of `python -m src.train`, one epoch without a test.

    Raises:
        UserError: the training failed.
    """
    record = folder / "probe.json"
    record.unlink(missing_ok=True)
    line = [
        *(sys.executable, "-m", "src.train", "trainer.max_epochs=1", "test=false", "~callbacks.progress"),
        *("+callbacks.probe._target_=benchmarks.probe.Probe", f"+callbacks.probe.path='{record}'"),
        *("extras.trusted_modules=[benchmarks]", f"hydra.run.dir='{folder / 'run'}'", *overrides),
    ]
    done = subprocess.run(line, cwd=memory.ROOT, capture_output=True, text=True, check=False)
    if done.returncode or not record.exists():
        raise UserError(f"python -m src.train failed:\n{done.stderr.strip() or done.stdout.strip()}")
    return json.loads(record.read_text())


def table(record: dict[str, Any]) -> Table:
    shown = command.table("Costs", record, ("", "median (lowest to highest)"))
    for part, figures in record["costs"].items():
        shown.add_section()
        shown.add_row(f"[bold]{part}")
        for name, values in figures.items():
            known = [value for value in values if value is not None]
            digits = 0 if name.endswith(("/s", "MB")) else 2
            shown.add_row(name, Spread.of(known).show(digits) if known else "not measured here")
    return shown


def main(folder: Path, given: list[str] | None = None) -> None:
    options = arguments(sys.argv[1:] if given is None else given)
    few = REVIEWS // 50 if options.quick else REVIEWS
    overrides = [*MODEL, *command.reviews(options, folder, few, few)]
    if options.quick:
        overrides.append("data.limit=500")
    record: dict[str, Any] = {"machine": command.machine(), "data": command.described(options), "costs": {}}
    for part in options.only:
        record["costs"][part] = PARTS[part](overrides, folder, options)
        command.write(options.out, "costs", record)
    Console().print(table(record))
    print(f"Written to {options.out / 'costs.json'}")


if __name__ == "__main__":
    command.start(main)
