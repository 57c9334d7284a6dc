"""The config group `metrics`: the names of logged metrics, and checks of metrics and of callbacks that monitor them."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from src.config.mistakes import Mistake
from src.config.plain import value_at
from src.config.targets import TRUSTED, find_class
from src.formatting import format_names, format_value
from src.misspellings import nearest, no_such

DEFAULT = Path(__file__).resolve().parents[2] / "conf" / "metrics" / "default.yaml"
ALWAYS_LOGGED = ("train/loss", "train/acc", "val/loss")
# Scores in a result that are not metrics; no metric may have one of these names.
OTHER_SCORES = ("loss", "majority_acc", "brier", "nll", "n")
LOWER_IS_BETTER = ("loss", "ece")
MODES = ("min", "max")
# If one of these options is false, its callback acts after each validation, not at the end of a training epoch.
AT_EPOCH_END = ("check_on_train_epoch_end", "save_on_train_epoch_end")
KNOWN_PACKAGES = ("src.", "pytorch_lightning.")


@cache
def default_metrics() -> dict[str, dict[str, Any]]:
    """Return the nodes of the default metrics by name; no run may change their definitions."""
    nodes: dict[str, dict[str, Any]] = yaml.safe_load(DEFAULT.read_text(encoding="utf-8"))
    return nodes


def metric_nodes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes of the metrics by name, except metrics that are null.

    A configuration from an earlier version has no group `metrics`, so the default metrics apply.
    """
    group = values.get("metrics") if "metrics" in values else default_metrics()
    return {str(name): node for name, node in group.items() if node is not None} if isinstance(group, dict) else {}


def logged_names(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the metrics that training logs and that a callback may monitor."""
    return (*ALWAYS_LOGGED, *(f"val/{name}" for name in metric_nodes(values)))


def metric_mistakes(values: Mapping[str, Any]) -> Iterator[Mistake]:
    """Find metrics whose name is invalid or reserved, and default metrics whose definition was changed."""
    for name, node in metric_nodes(values).items():
        path = f"metrics.{name}"
        if name in OTHER_SCORES or re.fullmatch(r"[A-Za-z]\w*", name) is None:
            rule = "use a letter, then letters, digits and _, but none of the reserved names"
            yield Mistake(path, f"cannot be the name of a metric: {rule} {format_names(OTHER_SCORES)}")
        elif name in default_metrics() and node != default_metrics()[name]:
            yield Mistake(path, f"must keep its default definition: add another metric, such as metrics.my_{name}")


def monitor_mistakes(values: Mapping[str, Any], trusted: Collection[str] = TRUSTED) -> Iterator[Mistake]:
    """Find callbacks whose `monitor` is unknown or not measured before they act, or whose `mode` is invalid or wrong.

    A callback from another package may log further metrics; if there is such a callback, `monitor` may have any name.
    """
    nodes = values["callbacks"] if isinstance(values.get("callbacks"), dict) else {}
    limit = value_at(values, "trainer.limit_val_batches")
    validates_nothing = limit == 0
    callbacks = {f"callbacks.{name}": node for name, node in nodes.items() if isinstance(node, dict)}
    all_known = all(str(node.get("_target_")).startswith(KNOWN_PACKAGES) for node in callbacks.values())
    names = logged_names(values)
    for path, node in callbacks.items():
        monitor, mode = node.get("monitor"), node.get("mode")
        entry = f"{path}.monitor={format_value(monitor)}"
        after_validation = [name for name in AT_EPOCH_END if node.get(name) is False]
        if all_known and isinstance(monitor, str) and monitor not in names:
            similar = nearest(monitor.replace("_", "/", 1) if "/" not in monitor else monitor, names)[:1]
            yield Mistake(entry, f"{no_such('metric', similar)} ({format_names(names)})")
        elif validates_nothing and isinstance(monitor, str) and monitor.startswith("val/"):
            yield Mistake(entry, "is not measured with trainer.limit_val_batches=0")
        elif after_validation and isinstance(monitor, str) and monitor.startswith("train/"):
            remedy = f"write {path}.{after_validation[0]}=true"
            yield Mistake(entry, f"is measured only at the end of a training epoch: {remedy}")
        if "monitor" in node and isinstance(mode, str) and mode not in MODES:
            yield Mistake(f"{path}.mode={format_value(mode)}", f"must be one of {format_names(MODES)}")
        elif isinstance(monitor, str) and isinstance(mode, str) and monitor in names:
            best = _mode(values, monitor.partition("/")[2], trusted)
            if best is not None and mode != best:
                yield Mistake(f"{path}.mode={mode}", f"selects the worst {monitor}: write {path}.mode={best}")


def _mode(values: Mapping[str, Any], name: str, trusted: Collection[str]) -> str | None:
    """Return `min` or `max`, the better direction of a metric; None if its class is invalid or defines neither."""
    if name in default_metrics() or name in LOWER_IS_BETTER:
        return "min" if name in LOWER_IS_BETTER else "max"
    try:
        cls = find_class(metric_nodes(values)[name]["_target_"], trusted)
    except (KeyError, TypeError, ValueError):  # the check of the metric's node reports this error
        return None
    is_higher_better = getattr(cls, "higher_is_better", None)
    return {True: "max", False: "min"}.get(is_higher_better) if isinstance(is_higher_better, bool) else None
