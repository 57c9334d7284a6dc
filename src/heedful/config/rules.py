"""Rules about several options of a configuration; a violation would otherwise appear only after a run has started."""

import re
from collections.abc import Iterator
from typing import Any

from heedful.base.formatting import format_names, format_value
from heedful.config.keys import default_metrics, metric_nodes
from heedful.config.mistakes import Mistake, no_such

ALWAYS_LOGGED = ("train/loss", "train/acc", "val/loss")
WITH_BRANCH = ("val/network_loss",)
# Scores in a result that are not metrics; no metric may have one of these names.
OTHER_SCORES = ("loss", "majority_acc", "brier", "nll", "n")
Values = dict[str, Any]


def rule_mistakes(values: Values, command: str) -> Iterator[Mistake]:
    """Find violated rules in the plain values of a configuration."""
    if command == "eval":
        yield from _file_mistakes(values)
    metrics = metric_nodes(values)
    for name, node in metrics.items():
        if name in OTHER_SCORES or not re.fullmatch(r"[A-Za-z]\w*", name) or node != default_metrics().get(name, node):
            reserved = format_names(OTHER_SCORES)
            message = f"needs another name: letters, digits and _, none of {reserved}, and no default metric's"
            yield Mistake(f"metrics.{name}", message)
    group = values.get("callbacks")
    callbacks = {key: node for key, node in group.items() if isinstance(node, dict)} if isinstance(group, dict) else {}
    owners = [*callbacks.values(), *([task] if isinstance(task := values.get("task"), dict) else [])]
    targets = [str(node.get("_target_")) for node in owners]
    all_known = all(target.startswith(("heedful.", "pytorch_lightning.")) for target in targets)  # others may log more
    model = values.get("model")
    of_branch = WITH_BRANCH if isinstance(model, dict) and model.get("branch") else ()
    names = (*ALWAYS_LOGGED, *of_branch, *(f"val/{name}" for name in metrics))  # logged by training
    for key, node in callbacks.items():
        monitor = node.get("monitor")
        if isinstance(monitor, str) and monitor not in names and all_known:
            yield Mistake(f"callbacks.{key}.monitor={format_value(monitor)}", no_such("metric", monitor, names))


def _file_mistakes(values: Values) -> Iterator[Mistake]:
    """Find options of an evaluation that contradict `file`, or have no meaning without it."""
    file, data = values.get("file"), values.get("data") or {}
    for name in ("text_column", "label_column", "delimiter"):
        if file is None and values.get(name) is not None:
            yield Mistake(f"{name}={format_value(values[name])}", "describes a file: add file=…")
    if file is not None and values.get("split") == "val":
        yield Mistake("split=val", "a file is not split: remove it, or file=…")
    if file is not None and ("_target_" in data or "path" in data):
        yield Mistake(f"file={format_value(file)}", "and data=… are both set: remove one of them")
