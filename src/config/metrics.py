"""The config group `metrics`: names in the log, and the checks of the group and of callbacks that monitor a metric."""

import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from src.config.mistakes import Mistake
from src.config.targets import TRUSTED, find_class
from src.formatting import format_names, format_value
from src.suggestions import did_you_mean, nearest

DEFAULT = Path(__file__).resolve().parents[2] / "conf" / "metrics" / "default.yaml"
LOSSES = ("train/loss", "train/acc", "val/loss")  # logged in every training
OTHER_SCORES = ("loss", "majority_acc", "brier", "nll", "n")  # names that the results use besides those of the group
LOWER_IS_BETTER = ("loss", "ece")
MODES = ("min", "max")
OWN = ("src.", "pytorch_lightning.")


@cache
def default_metrics() -> dict[str, dict[str, Any]]:
    """The default metrics, whose definitions are the same in all runs, by name."""
    nodes: dict[str, dict[str, Any]] = yaml.safe_load(DEFAULT.read_text(encoding="utf-8"))
    return nodes


def metric_nodes(cfg: DictConfig) -> dict[str, Any]:
    """The nodes of the metrics by name, without those set to null; the default ones for an earlier configuration."""
    if "metrics" not in cfg:
        return default_metrics()
    try:
        nodes: Any = OmegaConf.to_container(OmegaConf.create({"metrics": cfg.metrics}), resolve=True)
    except OmegaConfBaseException:  # reported by the check of its node
        nodes = OmegaConf.to_container(OmegaConf.create({"metrics": cfg._get_node("metrics")}), resolve=False)
    group = nodes["metrics"]
    return {str(name): node for name, node in group.items() if node is not None} if isinstance(group, dict) else {}


def logged_names(cfg: DictConfig) -> tuple[str, ...]:
    """The metrics that a training logs and a callback may monitor."""
    return (*LOSSES, *(f"val/{name}" for name in metric_nodes(cfg)))


def metric_mistakes(cfg: DictConfig) -> Iterator[Mistake]:
    """Find names of metrics that cannot be logged or that mean something else."""
    for name, node in metric_nodes(cfg).items():
        path = f"metrics.{name}"
        if name in OTHER_SCORES or re.fullmatch(r"[A-Za-z]\w*", name) is None:
            yield Mistake(
                path,
                "cannot be the name of a metric: write letters, digits and _, and none of the names "
                f"{format_names(OTHER_SCORES)}",
            )
        elif name in default_metrics() and node != default_metrics()[name]:
            yield Mistake(
                path, f"is defined alike in all runs, to compare them: add another, such as metrics.my_{name}"
            )


def monitor_mistakes(cfg: DictConfig, trusted: Collection[str] = TRUSTED) -> Iterator[Mistake]:
    """Find callbacks whose `monitor` is not a logged metric, or whose `mode` is invalid or selects the worst value.

    A callback from another package may log metrics of its own. With such a callback, any `monitor` is accepted.
    """
    try:
        callbacks = OmegaConf.to_container(cfg.get("callbacks") or OmegaConf.create({}), resolve=True)
    except OmegaConfBaseException:  # reported by the check of its node
        return
    nodes: Any = callbacks if isinstance(callbacks, dict) else {}
    limit = OmegaConf.select(cfg, "trainer.limit_val_batches", throw_on_missing=False)
    validates_nothing = isinstance(limit, (int, float)) and limit == 0
    watching = {f"callbacks.{name}": node for name, node in nodes.items() if isinstance(node, dict)}
    all_known = all(str(node.get("_target_")).startswith(OWN) for node in watching.values())
    names = logged_names(cfg)
    for path, node in watching.items():
        monitor, mode = node.get("monitor"), node.get("mode")
        if all_known and isinstance(monitor, str) and monitor not in names:
            similar = nearest(monitor.replace("_", "/", 1) if "/" not in monitor else monitor, names)[:1]
            message = f"no such metric{did_you_mean(similar)} ({format_names(names)})"
            yield Mistake(f"{path}.monitor={format_value(monitor)}", message)
        elif validates_nothing and isinstance(monitor, str) and monitor.startswith("val/"):
            yield Mistake(f"{path}.monitor={format_value(monitor)}", "is not measured with trainer.limit_val_batches=0")
        if "monitor" in node and isinstance(mode, str) and mode not in MODES:
            yield Mistake(f"{path}.mode={format_value(mode)}", f"must be one of {format_names(MODES)}")
        elif isinstance(monitor, str) and isinstance(mode, str) and monitor in names:
            best = _mode(cfg, monitor.partition("/")[2], trusted)
            if best is not None and mode != best:
                yield Mistake(f"{path}.mode={mode}", f"selects the worst {monitor}: write {path}.mode={best}")


def _mode(cfg: DictConfig, name: str, trusted: Collection[str]) -> str | None:
    """Whether the lowest or the highest value of a metric is the best; None if its class does not define that."""
    if name in default_metrics() or name in LOWER_IS_BETTER:
        return "min" if name in LOWER_IS_BETTER else "max"
    try:
        is_higher_better = getattr(find_class(metric_nodes(cfg)[name]["_target_"], trusted), "higher_is_better", None)
    except (KeyError, TypeError, ValueError):  # reported by the check of its node
        return None
    return {True: "max", False: "min"}.get(is_higher_better) if isinstance(is_higher_better, bool) else None
