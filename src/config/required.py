"""Required components, and their classes."""

from collections.abc import Iterator, Sequence

from omegaconf import DictConfig, OmegaConf

from src.config.keys import COLLECTIONS, COMPONENTS, GROUPS_OF_OBJECTS
from src.config.mistakes import Mistake
from src.formatting import format_names


def missing_classes(cfg: DictConfig, command: str) -> Iterator[Mistake]:
    """Find components without `_target_`.

    A component that is absent is reported by `missing_components`.
    """
    places = [*COMPONENTS, *(f"{group}.{name}" for group in GROUPS_OF_OBJECTS for name in _names(cfg, group))]
    for path in places:
        if command != "train" and path.startswith("data"):
            continue  # it overrides options of the checkpoint's data
        parent, _, name = path.rpartition(".")
        owner = OmegaConf.select(cfg, parent, throw_on_missing=False) if parent else cfg
        if not isinstance(owner, DictConfig) or name not in set(owner) or OmegaConf.is_missing(owner, name):
            continue
        if path == "data.tokenizer" and "_target_" not in set(owner):
            continue  # reported for data
        node = owner._get_node(name)
        if not isinstance(node, DictConfig) or node._is_none():
            continue
        if "_target_" not in set(node):
            yield Mistake(f"{path}._target_", f"is required: {_remedy(path)}")
    scheduler = cfg._get_node("scheduler") if "scheduler" in set(cfg) else None
    if isinstance(scheduler, DictConfig) and set(scheduler) and "_target_" not in set(scheduler):
        yield Mistake("scheduler._target_", "is required: choose one with scheduler=…, or write scheduler=none")


def missing_weights(cfg: DictConfig, command: str) -> Iterator[Mistake]:
    """Find `train=false` without a checkpoint to test, and runs with nothing to do."""
    if command != "train" or cfg.get("train") is not False:
        return
    if cfg.get("test") is False:
        yield Mistake("train=false test=false", "leaves nothing to do: set one of them to true")
    elif "ckpt_path" in set(cfg) and cfg._get_node("ckpt_path")._is_none():  # type: ignore[union-attr]
        yield Mistake("train=false", "would test a model without trained weights: add ckpt_path=… of a checkpoint")


def missing_components(cfg: DictConfig) -> Iterator[Mistake]:
    """Find components that a training needs and the configuration lacks."""
    for path in (*COMPONENTS, "scheduler", *COLLECTIONS, "paths", "extras"):
        parent, _, name = path.rpartition(".")
        owner = OmegaConf.select(cfg, parent) if parent else cfg
        is_present = isinstance(owner, DictConfig) and name in set(owner)
        if not is_present and not (parent and owner is None):
            yield Mistake(path, f"is required: {_remedy(path)}")


def required_message(group: str, choices: Sequence[str]) -> str:
    """The message for an override that removes a required group."""
    if "none" in choices:
        return f"cannot be removed: write {group}=none"
    return f"is required: choose one of {format_names(sorted(choices))}"


def _names(cfg: DictConfig, group: str) -> list[str]:
    node = cfg._get_node(group) if group in set(cfg) else None
    return list(map(str, node)) if isinstance(node, DictConfig) and not node._is_none() else []


def _remedy(path: str) -> str:
    if path.startswith(GROUPS_OF_OBJECTS):
        return f"write {path}=null to remove it" if "." in path else f"write {path}=none to have none"
    return f"choose one with {path.replace('.', '/')}=…"
