"""Costs of Heed besides training steps: `python -m benchmarks.costs --data-path=…`.

steps: reviews per second of training, evaluation and prediction, and the ratios of the last two to training.
tokenizing: seconds to tokenize all reviews, without and with the cache. start: CPU seconds from the start of
`python -m src.train` to the first training step on cached reviews. memory: peak MB of one training epoch above the
imports. optimizer: milliseconds of an optimizer step of torch's Adagrad and of Heed's, with a gradient as in a batch of
experiment=speedrun.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import command, memory
from benchmarks.measure import Reader, Spread, in_turn, ratios
from benchmarks.training import start_training, wait
from src.kernels.malloc import reuse_freed_memory
from src.optim.adagrad import Adagrad

MODEL = ("experiment=twenty_variants", "model/encoder=bilstm", "model/attention=luong_general")
REVIEWS = 25_000  # made-up reviews for training, and as many for testing
ROWS, WIDTH, READ = 2_100_000, 8, 26_000  # shape of the speedrun's embedding table, and n-grams in a batch


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    command.add_names(parser, "--only", list(PARTS))
    command.add_turns(parser, "seconds of one measurement of steps and optimizer")
    return command.parse_turns(parser, arguments, quick_repeats=2)


def steps(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the reviews per second of training, evaluation and prediction, in turn in one process."""
    reuse_freed_memory()
    from benchmarks.heed import HeedRunner  # imported here, because it allocates torch's first tensors

    heed = HeedRunner(overrides, folder)
    readers = {"training": heed.train, "evaluation": heed.evaluate, "prediction": heed.predict}
    speeds = in_turn(readers, options.seconds, options.repeats, "Steps")
    over = {name: ratios(speeds[name], speeds["training"]) for name in ("evaluation", "prediction")}
    return {
        **{f"{name}, reviews/s": values for name, values in speeds.items()},
        **{f"{name} over training": values for name, values in over.items()},
    }


def tokenizing(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the seconds of tokenizing without and with the cache; each measurement has its own process."""
    caches = [f"data.cache_dir='{folder / f'empty{repeat}'}'" for repeat in range(options.repeats)]
    first, cached = zip(*(tokenize_twice([*overrides, cache], folder) for cache in caches), strict=True)
    return {"first time, s": first, "cached, s": cached}


def tokenize_twice(overrides: Sequence[str], folder: Path) -> tuple[float, float]:
    """Return the seconds of tokenizing, and the seconds of reading the cache that the first process filled."""
    job = {"overrides": list(overrides), "folder": str(folder)}
    first, cached = (memory.run("benchmarks.tokenizing", job)["seconds"] for _ in range(2))
    return first, cached


def start(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the CPU seconds to the first training step, with the default loggers and callbacks."""
    short = [*overrides, "+trainer.limit_train_batches=1", "+trainer.limit_val_batches=1", "trainer.max_epochs=1"]
    cpu_seconds = [training(short, folder)["cpu_seconds"] for _ in range(options.repeats + 1)]
    return {"to the first training step, CPU s": cpu_seconds[1:]}  # without the first run, which also tokenizes


def peak(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the peak MB of one training epoch with validation."""
    training([*overrides, "+trainer.limit_train_batches=1", "+trainer.limit_val_batches=1"], folder)  # fills the cache
    return {"peak above the imports, MB": [memory.above_imports(training(overrides, folder))]}


def optimizer(overrides: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the milliseconds per step of both optimizers in turn, and the ratio of the speeds."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(ROWS, (1, READ), generator=generator)
    values = torch.randn(READ, WIDTH, generator=generator)
    gradient = torch.sparse_coo_tensor(rows, values, (ROWS, WIDTH), check_invariants=True)

    def reader(optimizer_class: type[torch.optim.Optimizer]) -> Reader:
        table = torch.nn.Parameter(torch.zeros(ROWS, WIDTH))
        optimizer = optimizer_class([table])

        def read(steps: int) -> float:
            start = time.perf_counter()
            for _ in range(steps):
                table.grad = gradient
                optimizer.step()
            return steps / (time.perf_counter() - start)

        return read

    speeds = in_turn({"Heed": reader(Adagrad), "torch": reader(torch.optim.Adagrad)}, options.seconds, options.repeats)
    milliseconds = {f"{name}, ms": [1000 / speed for speed in values] for name, values in speeds.items()}
    return {**milliseconds, "Heed over torch": ratios(speeds["Heed"], speeds["torch"])}


PARTS: dict[str, Callable[[Sequence[str], Path, argparse.Namespace], dict[str, Any]]] = {
    "steps": steps,
    "tokenizing": tokenizing,
    "start": start,
    "memory": peak,
    "optimizer": optimizer,
}


def training(overrides: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Train without a test, by default for one epoch, and return the record of the probe.

    Args:
        environment: additional environment variables.

    Raises:
        UserError: if the training failed.
    """
    record = folder / "probe.json"
    arguments = [
        *("trainer.max_epochs=1", "test=false", "~callbacks.progress", f"hydra.run.dir='{folder / 'run'}'"),
        *("+callbacks.probe._target_=benchmarks.probe.Probe", f"+callbacks.probe.path='{record}'"),
        *("extras.trusted_modules=[benchmarks]", *overrides),
    ]
    wait(start_training(arguments, environment))
    return json.loads(record.read_text())


def table(record: dict[str, Any]) -> Table:
    result = command.table("Costs", record, ("", "median (lowest to highest)"))
    for part, figures in record["costs"].items():
        result.add_section()
        result.add_row(f"[bold]{part}")
        for name, values in figures.items():
            measured = [value for value in values if value is not None]
            digits = 0 if name.endswith(("/s", "MB")) else 2
            result.add_row(name, Spread.of(measured).format(digits) if measured else "not available on this system")
    return result


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    reviews = REVIEWS // 50 if options.quick else REVIEWS
    overrides = [*MODEL, *command.reviews(options, folder, reviews, reviews)]
    if options.quick:
        overrides.append("data.limit=500")
    record: dict[str, Any] = {**command.new_record(options), "costs": {}}
    for part in options.only:
        record["costs"][part] = PARTS[part](overrides, folder, options)
        command.write(options.out, "costs", record)
    Console().print(table(record))
    print(f"Written to {options.out / 'costs.json'}")


if __name__ == "__main__":
    command.start(main)
