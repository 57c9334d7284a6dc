"""Rules about several options of a configuration; a violation would otherwise appear only after a run has started."""

import os
import re
from collections.abc import Iterator
from typing import Any

from src.config.metrics import LOWER_IS_BETTER, OTHER_SCORES, default_metrics, logged_names, metric_nodes
from src.config.mistakes import Mistake
from src.formatting import format_names, format_value
from src.misspellings import nearest, no_such

MIN_PROCESSES = 2  # are allowed even on a machine with one core, so that trainer=ddp_sim works everywhere
# Environment variables that are set by programs that connect several machines
CLUSTER = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "LSB_JOBID")

Values = dict[str, Any]


def rule_mistakes(values: Values, command: str) -> Iterator[Mistake]:
    """Find violated rules in the plain values of a configuration."""
    if command == "train" and values.get("train") is False and "ckpt_path" in values and values["ckpt_path"] is None:
        yield Mistake("train=false", "would test a model without trained weights: add ckpt_path=<checkpoint>")
    yield from _devices(values)
    yield from _metric_names(values)
    yield from _monitors(values)


def _devices(values: Values) -> Iterator[Mistake]:
    """The CPU has processes instead of devices; without a cluster, the first machine would wait for others forever."""
    trainer = _mapping(values, "trainer")
    devices, machines = trainer.get("devices", "auto"), trainer.get("num_nodes")
    cores = max(os.cpu_count() or 1, MIN_PROCESSES)
    if trainer.get("accelerator") == "cpu" and str(devices) not in ("auto", *map(str, range(1, cores + 1))):
        rule = f"must be a number of processes from 1 to {cores}, which this machine's cores can run"
        yield Mistake(f"trainer.devices={format_value(devices)}", rule)
    if isinstance(machines, int) and machines > 1 and not any(os.environ.get(name) for name in CLUSTER):
        remedy = "start the command with Slurm or torchrun, or write trainer.num_nodes=1"
        yield Mistake(f"trainer.num_nodes={machines}", f"needs {machines} connected machines: {remedy}")


def _metric_names(values: Values) -> Iterator[Mistake]:
    """The name of a metric has the same meaning in all runs."""
    for name, node in metric_nodes(values).items():
        if name in OTHER_SCORES or re.fullmatch(r"[A-Za-z]\w*", name) is None:
            rule = "use a letter, then letters, digits and _, but none of the reserved names"
            message = f"cannot be the name of a metric: {rule} {format_names(OTHER_SCORES)}"
            yield Mistake(f"metrics.{name}", message)
        elif name in default_metrics() and node != default_metrics()[name]:
            message = f"must keep its default definition: add another metric, such as metrics.my_{name}"
            yield Mistake(f"metrics.{name}", message)


def _monitors(values: Values) -> Iterator[Mistake]:
    """Each metric that a callback monitors is measured, and the better direction is selected.

    A callback from another package may log further metrics; if there is such a callback, `monitor` may have any name.
    """
    callbacks = {key: node for key, node in _mapping(values, "callbacks").items() if isinstance(node, dict)}
    targets = [str(node.get("_target_")) for node in callbacks.values()]
    all_known = all(target.startswith(("src.", "pytorch_lightning.")) for target in targets)
    names = logged_names(values)
    directions = {**dict.fromkeys([*default_metrics(), "acc"], "max"), **dict.fromkeys(LOWER_IS_BETTER, "min")}
    for key, node in callbacks.items():
        monitor, mode = node.get("monitor"), node.get("mode")
        if not isinstance(monitor, str):
            continue
        entry = f"callbacks.{key}.monitor={format_value(monitor)}"
        if all_known and monitor not in names:
            similar = nearest(monitor if "/" in monitor else monitor.replace("_", "/", 1), names)
            yield Mistake(entry, f"{no_such('metric', similar)} ({format_names(names)})")
        elif monitor.startswith("val/") and _mapping(values, "trainer").get("limit_val_batches") == 0:
            yield Mistake(entry, "is not measured with trainer.limit_val_batches=0")
        best = directions.get(monitor.partition("/")[2], mode)
        if monitor in names and mode in ("min", "max") and mode != best:
            message = f"selects the worst {monitor}: write callbacks.{key}.mode={best}"
            yield Mistake(f"callbacks.{key}.mode={mode}", message)


def _mapping(values: Values, key: str) -> Values:
    return values[key] if isinstance(values.get(key), dict) else {}
