"""The config group `metrics`, and the names of logged metrics."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

DEFAULT = Path(__file__).resolve().parents[2] / "conf" / "metrics" / "default.yaml"
ALWAYS_LOGGED = ("train/loss", "train/acc", "val/loss")
# Scores in a result that are not metrics; no metric may have one of these names.
OTHER_SCORES = ("loss", "majority_acc", "brier", "nll", "n")
LOWER_IS_BETTER = ("loss", "ece")


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
