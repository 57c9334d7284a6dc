"""Ranges of numeric options that no constructor of Heed checks, such as the seeds and the options of the Trainer."""

import math
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any, NamedTuple

from src.config.mistakes import Mistake
from src.config.plain import Node, join_path
from src.formatting import format_value

LARGEST_INTEGER = 2**63 - 1  # int64
MAX_DEVICES = 1024  # accelerators per machine
MIN_PROCESSES = 2  # are allowed even on a machine with one core, so that trainer=ddp_sim works everywhere
# Environment variables that are set by programs that connect several machines
CLUSTER = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "LSB_JOBID")
FINITE_MODULES = ("src.", "torch.", "pytorch_lightning.")  # modules whose classes never accept infinity


class Range(NamedTuple):
    """The numbers from `low` to `high`, and `others`."""

    low: float
    high: float = math.inf
    others: tuple[int, ...] = ()

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, float)) and (self.low <= value <= self.high or value in self.others)

    def __str__(self) -> str:
        rule = f"lie in [{self.low}, {self.high}]" if self.high < math.inf else f"be at least {self.low}"
        return "must " + ", or be ".join([rule, *map(str, self.others)])


class BatchLimit(NamedTuple):
    """A number of batches, or a fraction of all batches."""

    least: int  # smallest number; 0 also allows the fraction 0.0

    def __contains__(self, value: object) -> bool:
        if isinstance(value, float):
            return 0.0 <= value <= 1.0 and (value > 0.0 or not self.least)
        return isinstance(value, int) and value >= self.least

    def __str__(self) -> str:
        fractions = "(0.0, 1.0]" if self.least else "[0.0, 1.0]"
        return f"must be a whole number of at least {self.least}, or a fraction in {fractions}"


RANGES: dict[str, Range | BatchLimit] = {  # by dotted path; * matches any text
    "seed": Range(0, 2**32 - 1),
    "data.seed": Range(0, 2**32 - 1),
    "data.split_seed": Range(0, 2**32 - 1),
    "top": Range(1),
    "batch_size": Range(1),
    "trainer.accumulate_grad_batches": Range(1),
    "trainer.check_val_every_n_epoch": Range(1),
    "trainer.gradient_clip_val": Range(0),
    "trainer.limit_predict_batches": BatchLimit(0),
    "trainer.limit_test_batches": BatchLimit(1),
    "trainer.limit_train_batches": BatchLimit(1),
    "trainer.limit_val_batches": BatchLimit(0),
    "trainer.log_every_n_steps": Range(0),
    "trainer.max_epochs": Range(1),
    "trainer.max_steps": Range(1, others=(-1,)),
    "trainer.min_epochs": Range(0),
    "trainer.min_steps": Range(0),
    "trainer.num_nodes": Range(1),
    "trainer.num_sanity_val_steps": Range(0, others=(-1,)),
    "trainer.overfit_batches": BatchLimit(0),
    "trainer.reload_dataloaders_every_n_epochs": Range(0),
    "trainer.val_check_interval": BatchLimit(1),
    "callbacks.*.every_n_epochs": Range(0),
    "callbacks.*.every_n_train_steps": Range(0),
    "callbacks.*.patience": Range(0),
    "callbacks.*.refresh_rate": Range(0),
    "callbacks.*.save_top_k": Range(-1),
    "logger.*.flush_logs_every_n_steps": Range(1),
    "scheduler.cooldown": Range(0),
    "scheduler.patience": Range(0),
    "scheduler.threshold": Range(0),
    "scheduler.min_lr": Range(0),
    "scheduler.eps": Range(0),
}


def range_mistakes(node: Node) -> Iterator[Mistake]:
    """Find numbers in a configuration that are outside their range or not finite.

    Types are validated elsewhere. The options of components are validated by their constructors.
    """
    for path, value, infinite in _numbers(node, "", True):
        if isinstance(value, float) and (math.isnan(value) or (math.isinf(value) and not infinite)):
            yield Mistake(f"{path}={value}", "must be a finite number")
        elif isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            yield Mistake(f"{path}={format_value(value)}", "must be between -2^63 and 2^63")
        elif (rule := _rule(path)) is not None and value not in rule:
            yield Mistake(f"{path}={value}", str(rule))
    trainer = node.value.get("trainer")
    if isinstance(trainer, dict):
        yield from _devices(trainer)
        yield from _machines(trainer)


def _numbers(node: Node, path: str, infinite: bool) -> Iterator[tuple[str, Any, bool]]:
    """Yield each number with its path and whether it may be infinite; skip references to other options."""
    value = node.value
    if isinstance(value, dict):
        if "_target_" in value:
            infinite = not str(value["_target_"]).startswith(FINITE_MODULES)
        elif path in ("param_groups", "scheduler"):
            infinite = False
    if isinstance(value, dict | list):
        for key, child in node.items():
            yield from _numbers(child, join_path(path, key), infinite)
    elif isinstance(value, int | float) and not isinstance(value, bool) and not isinstance(node.written, str):
        yield path, value, infinite


def _rule(path: str) -> Range | BatchLimit | None:
    patterns = (pattern for pattern in RANGES if "*" in pattern and fnmatch(path, pattern))
    return RANGES.get(path) or RANGES.get(next(patterns, ""))


def _devices(trainer: dict[str, Any]) -> Iterator[Mistake]:
    """Check `trainer.devices`: number of devices (on the CPU: processes), -1 for all, auto, or a list of indices."""
    devices, accelerator = trainer.get("devices"), trainer.get("accelerator", "auto")
    entry = f"trainer.devices={format_value(devices)}"
    number = int(devices) if isinstance(devices, str) and devices.removeprefix("-").isdecimal() else devices
    if isinstance(number, int) and not isinstance(number, bool):
        if number == -1 and accelerator == "cpu":
            yield Mistake(entry, "selects all accelerators, but accelerator=cpu has none: write trainer.devices=1")
        elif number < 1 and number != -1:
            yield Mistake(entry, "must be at least 1, or -1 for all accelerators")
        elif accelerator == "cpu" and number > (cores := max(os.cpu_count() or 1, MIN_PROCESSES)):
            yield Mistake(
                entry, f"is more than the {cores} processes that this machine's cores can run: write 1 to {cores}"
            )
        elif number > MAX_DEVICES:
            yield Mistake(entry, f"must be at most {MAX_DEVICES:,}")
    elif isinstance(number, str) and not re.fullmatch(r"auto|\d+(,\d+)*", number):
        yield Mistake(entry, "must be a number of devices, auto, or a list of device indices such as [0, 1]")
    elif isinstance(number, list) and (not number or len(set(map(str, number))) < len(number)):
        yield Mistake(entry, "must list at least one device, and no device twice")
    elif isinstance(number, list) and any(isinstance(i, int) and i < 0 for i in number):
        yield Mistake(entry, "must not contain negative indices")


def _machines(trainer: dict[str, Any]) -> Iterator[Mistake]:
    """Check `trainer.num_nodes`: without a cluster, the first machine would wait forever for the other machines."""
    number = trainer.get("num_nodes")
    if isinstance(number, int) and number > 1 and not any(os.environ.get(name) for name in CLUSTER):
        remedy = "start the command with Slurm or torchrun, or write trainer.num_nodes=1"
        yield Mistake(f"trainer.num_nodes={number}", f"needs {number} connected machines: {remedy}")
