"""Rules about several options of a configuration; a violation would otherwise appear only after a run has started."""

import os
import re
from collections.abc import Collection, Iterator
from typing import Any

from src.config.keys import COMPONENTS, GROUPS_OF_OBJECTS, options_in
from src.config.metrics import LOWER_IS_BETTER, OTHER_SCORES, default_metrics, logged_names, metric_nodes
from src.config.mistakes import Mistake
from src.config.paths import unwritable_reason
from src.config.places import find_class
from src.config.plain import value_at
from src.formatting import format_names, format_value
from src.misspellings import nearest, no_such

MIN_PROCESSES = 2  # are allowed even on a machine with one core, so that trainer=ddp_sim works everywhere
# Environment variables that are set by programs that connect several machines
CLUSTER = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "LSB_JOBID")
OUTPUT_FOLDERS = ("output_dir", "default_root_dir", "dirpath", "save_dir", "folder", "pictures")
INPUT_NODES = ("data.", "model.")  # their folders are inputs
# If one of these options is false, its callback acts after each validation, not at the end of a training epoch.
AT_EPOCH_END = ("check_on_train_epoch_end", "save_on_train_epoch_end")
KNOWN_PACKAGES = ("src.", "pytorch_lightning.")

Values = dict[str, Any]


def rule_mistakes(values: Values, command: str, trusted: Collection[str]) -> Iterator[Mistake]:
    """Find violated rules in the plain values of a configuration."""
    yield from _classes(values, command)
    yield from _something_to_do(values, command)
    yield from _writable_folders(values)
    yield from _separate_checkpoints(values)
    yield from _devices(values)
    yield from _metric_names(values)
    yield from _monitors(values, trusted)


def _classes(values: Values, command: str) -> Iterator[Mistake]:
    """Each component names a class."""
    names = [f"{group}.{name}" for group in GROUPS_OF_OBJECTS for name in _mapping(values, group)]
    for path in (*COMPONENTS, *names, "scheduler"):
        node = value_at(values, path)
        if not isinstance(node, dict) or "_target_" in node or (path == "scheduler" and not node):
            continue
        if path.startswith("data") and (command != "train" or (path != "data" and "_target_" not in values["data"])):
            continue  # overrides of the data that a checkpoint records; or a mistake that is reported for `data`
        if path.startswith(GROUPS_OF_OBJECTS):
            remedy = f"write {path}=null to remove it"
        else:
            remedy = f"choose one with {path.replace('.', '/')}=…"
        yield Mistake(f"{path}._target_", f"is required: {remedy}")


def _something_to_do(values: Values, command: str) -> Iterator[Mistake]:
    """A run that does not train tests a checkpoint."""
    if command != "train" or values.get("train") is not False:
        return
    if values.get("test") is False:
        yield Mistake("train=false test=false", "leaves nothing to do: set one of them to true")
    elif "ckpt_path" in values and values["ckpt_path"] is None:
        yield Mistake("train=false", "would test a model without trained weights: add ckpt_path=<checkpoint>")


def _writable_folders(values: Values) -> Iterator[Mistake]:
    """Files can be written to each output folder; a folder inside a wrong one is not reported again."""
    wrong: list[str] = []
    for path, value in options_in({"paths": None, **values}, ()).items():  # `paths` contains the other folders
        if not isinstance(value, str) or path.rpartition(".")[2] not in OUTPUT_FOLDERS or path.startswith(INPUT_NODES):
            continue
        is_inside = any(value == other or value.startswith(f"{other}/") for other in wrong)
        if not is_inside and (reason := unwritable_reason(value)):
            wrong.append(value)
            yield Mistake(f"{path}={format_value(value)}", f"cannot be written to ({reason}): choose another folder")


def _separate_checkpoints(values: Values) -> Iterator[Mistake]:
    """No callback replaces the checkpoint that another callback saved."""
    callbacks = {name: node for name, node in _mapping(values, "callbacks").items() if isinstance(node, dict)}
    owners: dict[tuple[str, str], str] = {}
    for name, options in callbacks.items():
        if not isinstance(file := options.get("filename"), str):
            continue
        owner = owners.setdefault((str(options.get("dirpath")), os.path.normpath(file)), name)
        nodes = (options, callbacks[owner])
        if owner != name and any(node.get("enable_version_counter") is False for node in nodes):
            key = f"callbacks.{name}.filename={format_value(file)}"
            yield Mistake(key, f"is also the file of callbacks.{owner}: choose another name")


def _devices(values: Values) -> Iterator[Mistake]:
    """The CPU has processes instead of devices; without a cluster, the first machine would wait for others forever."""
    trainer = _mapping(values, "trainer")
    devices, machines = trainer.get("devices", "auto"), trainer.get("num_nodes")
    cores = max(os.cpu_count() or 1, MIN_PROCESSES)
    if trainer.get("accelerator") == "cpu" and devices != "auto":
        is_number = isinstance(devices, int) or (isinstance(devices, str) and devices.isdecimal())
        if not is_number or not 1 <= int(devices) <= cores:
            rule = f"must be a number of processes from 1 to {cores}, which this machine's cores can run"
            yield Mistake(f"trainer.devices={format_value(devices)}", rule)
    if isinstance(machines, int) and machines > 1 and not any(os.environ.get(name) for name in CLUSTER):
        remedy = "start the command with Slurm or torchrun, or write trainer.num_nodes=1"
        yield Mistake(f"trainer.num_nodes={machines}", f"needs {machines} connected machines: {remedy}")


def _metric_names(values: Values) -> Iterator[Mistake]:
    """The name of a metric has the same meaning in all runs."""
    for name, node in metric_nodes(values).items():
        path = f"metrics.{name}"
        if name in OTHER_SCORES or re.fullmatch(r"[A-Za-z]\w*", name) is None:
            rule = "use a letter, then letters, digits and _, but none of the reserved names"
            yield Mistake(path, f"cannot be the name of a metric: {rule} {format_names(OTHER_SCORES)}")
        elif name in default_metrics() and node != default_metrics()[name]:
            yield Mistake(path, f"must keep its default definition: add another metric, such as metrics.my_{name}")


def _monitors(values: Values, trusted: Collection[str]) -> Iterator[Mistake]:
    """Each metric that a callback monitors is measured before the callback acts, and the better direction is selected.

    A callback from another package may log further metrics; if there is such a callback, `monitor` may have any name.
    """
    validates_nothing = value_at(values, "trainer.limit_val_batches") == 0
    callbacks = {f"callbacks.{key}": node for key, node in _mapping(values, "callbacks").items() if node}
    nodes = {path: node for path, node in callbacks.items() if isinstance(node, dict)}
    all_known = all(str(node.get("_target_")).startswith(KNOWN_PACKAGES) for node in nodes.values())
    names = logged_names(values)
    for path, node in nodes.items():
        monitor, mode = node.get("monitor"), node.get("mode")
        if not isinstance(monitor, str):
            continue
        entry = f"{path}.monitor={format_value(monitor)}"
        after_validation = [name for name in AT_EPOCH_END if node.get(name) is False]
        if all_known and monitor not in names:
            similar = nearest(monitor.replace("_", "/", 1) if "/" not in monitor else monitor, names)[:1]
            yield Mistake(entry, f"{no_such('metric', similar)} ({format_names(names)})")
        elif validates_nothing and monitor.startswith("val/"):
            yield Mistake(entry, "is not measured with trainer.limit_val_batches=0")
        elif after_validation and monitor.startswith("train/"):
            remedy = f"write {path}.{after_validation[0]}=true"
            yield Mistake(entry, f"is measured only at the end of a training epoch: {remedy}")
        best = _better_direction(values, monitor.partition("/")[2], trusted) if monitor in names else None
        if best is not None and mode in ("min", "max") and mode != best:
            yield Mistake(f"{path}.mode={mode}", f"selects the worst {monitor}: write {path}.mode={best}")


def _better_direction(values: Values, name: str, trusted: Collection[str]) -> str | None:
    """Return `min` or `max`; None if the metric's class is invalid or defines neither."""
    if name in default_metrics() or name in LOWER_IS_BETTER:
        return "min" if name in LOWER_IS_BETTER else "max"
    try:
        cls = find_class(metric_nodes(values)[name]["_target_"], trusted)
    except (KeyError, TypeError, ValueError):  # the validation of the metric's node reports this error
        return "max" if name == "acc" else None
    is_higher_better = getattr(cls, "higher_is_better", None)
    return {True: "max", False: "min"}.get(is_higher_better) if isinstance(is_higher_better, bool) else None


def _mapping(values: Values, key: str) -> Values:
    return values[key] if isinstance(values.get(key), dict) else {}
