"""Components that no run can do without, and their classes."""

from collections.abc import Iterator, Sequence

from omegaconf import DictConfig, OmegaConf

from src.config.mistakes import Mistake, format_names

PARTS = ("embedding", "position", "encoder", "attention", "pooling", "head")  # of a model, in the order of its flow
COMPONENTS = ("data", "data.tokenizer", *(f"model.{part}" for part in PARTS), "loss", "optimizer", "trainer")
SEVERAL = ("callbacks", "logger")  # groups of components


def missing_classes(cfg: DictConfig, command: str) -> Iterator[Mistake]:
    """The components of a configuration that name no class, or give it values by position.

    One that is not there at all is no mistake here.
    """
    places = [*COMPONENTS, *(f"{group}.{name}" for group in SEVERAL for name in _names(cfg, group))]
    for path in places:
        if command != "train" and path.startswith("data"):
            continue  # it changes options of the checkpoint's own data
        parent, _, name = path.rpartition(".")
        owner = OmegaConf.select(cfg, parent, throw_on_missing=False) if parent else cfg
        if not isinstance(owner, DictConfig) or name not in set(owner) or OmegaConf.is_missing(owner, name):
            continue
        if path == "data.tokenizer" and "_target_" not in set(owner):
            continue  # the mistake is that of data
        node = owner._get_node(name)
        if not isinstance(node, DictConfig) or node._is_none():
            continue
        if "_target_" not in set(node):
            yield Mistake(f"{path}._target_", f"is required: {_remedy(path)}")
    scheduler = cfg._get_node("scheduler") if "scheduler" in set(cfg) else None
    if isinstance(scheduler, DictConfig) and set(scheduler) and "_target_" not in set(scheduler):
        yield Mistake("scheduler._target_", "is required with options: write scheduler=none to have no scheduler")


def missing_weights(cfg: DictConfig, command: str) -> Iterator[Mistake]:
    """A training that trains nothing has only the weights of a checkpoint to test."""
    if command != "train" or cfg.get("train") is not False:
        return
    if cfg.get("test") is False:
        yield Mistake("train=false test=false", "leaves nothing to do: set one of them to true")
    elif "ckpt_path" in set(cfg) and cfg._get_node("ckpt_path")._is_none():  # type: ignore[union-attr]
        yield Mistake("train=false", "would test a model without trained weights: add ckpt_path=… of a checkpoint")


def missing_components(cfg: DictConfig) -> Iterator[Mistake]:
    """The components of a training that are not there."""
    for path in (*COMPONENTS, "scheduler", *SEVERAL, "paths", "extras"):
        parent, _, name = path.rpartition(".")
        owner = OmegaConf.select(cfg, parent) if parent else cfg
        is_there = isinstance(owner, DictConfig) and name in set(owner)
        if not is_there and not (parent and owner is None):
            yield Mistake(path, f"is required: {_remedy(path)}")


def required_message(group: str, choices: Sequence[str]) -> str:
    """What to write in place of an override that takes a group away."""
    if "none" in choices:
        return f"cannot be left out: write {group}=none"
    return f"is required: choose one of {format_names(sorted(choices))}"


def _names(cfg: DictConfig, group: str) -> list[str]:
    node = cfg._get_node(group) if group in set(cfg) else None
    return list(map(str, node)) if isinstance(node, DictConfig) and not node._is_none() else []


def _remedy(path: str) -> str:
    if path.startswith(SEVERAL):
        return f"write {path}=null to leave it out" if "." in path else f"write {path}=none to have none"
    return f"choose one with {path.replace('.', '/')}=…"
