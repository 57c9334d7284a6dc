"""Find required components that are missing or have no class, and runs with nothing to do."""

from collections.abc import Iterator, Sequence
from typing import Any

from omegaconf import DictConfig

from src.config.keys import COLLECTIONS, COMPONENTS, GROUPS_OF_OBJECTS
from src.config.mistakes import Mistake
from src.config.plain import plain_values, value_at
from src.formatting import format_names


def missing_classes(values: dict[str, Any], command: str) -> Iterator[Mistake]:
    """Find components without `_target_`; `missing_components` finds components that are absent."""
    names = [f"{group}.{name}" for group in GROUPS_OF_OBJECTS for name in values.get(group) or {}]
    for path in (*COMPONENTS, *names, "scheduler"):
        node = value_at(values, path)
        if not isinstance(node, dict) or "_target_" in node:
            continue
        if path.startswith("data") and command != "train":
            continue  # the node only overrides options of the data that the checkpoint records
        if path == "data.tokenizer" and "_target_" not in values["data"]:
            continue  # already reported for `data`
        if node or path != "scheduler":
            yield Mistake(f"{path}._target_", f"is required: {_remedy(path)}")


def missing_weights(values: dict[str, Any], command: str) -> Iterator[Mistake]:
    """Find `train=false` without a checkpoint to test, and runs with nothing to do."""
    if command != "train" or values.get("train") is not False:
        return
    if values.get("test") is False:
        yield Mistake("train=false test=false", "leaves nothing to do: set one of them to true")
    elif "ckpt_path" in values and values["ckpt_path"] is None:
        yield Mistake("train=false", "would test a model without trained weights: add ckpt_path=<checkpoint>")


def missing_components(cfg: DictConfig) -> Iterator[Mistake]:
    """Find components that a training run needs but the configuration lacks."""
    values = plain_values(cfg)
    for path in (*COMPONENTS, "scheduler", *COLLECTIONS, "paths", "extras"):
        parent, _, name = path.rpartition(".")
        owner = value_at(values, parent) if parent else values
        if owner is not None and (not isinstance(owner, dict) or name not in owner):
            yield Mistake(path, f"is required: {_remedy(path)}")


def required_message(group: str, choices: Sequence[str]) -> str:
    """Return the message about an override that removes a required group."""
    if "none" in choices:
        return f"cannot be removed: write {group}=none"
    return f"is required: choose one of {format_names(sorted(choices))}"


def _remedy(path: str) -> str:
    if path.startswith(GROUPS_OF_OBJECTS):
        return f"write {path}=null to remove it" if "." in path else f"write {path}=none to omit the group"
    others = ", or write scheduler=none" if path == "scheduler" else ""
    return f"choose one with {path.replace('.', '/')}=…{others}"
