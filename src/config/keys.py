"""The keys of a configuration: components, options that affect a result or may change on resume, and values by path."""

from collections.abc import Collection
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

MODEL_COMPONENTS = ("embedding", "position", "encoder", "attention", "pooling", "head")  # in the order of the data flow
MODEL = tuple(f"model.{name}" for name in MODEL_COMPONENTS)

# An option affects a result, the weights that a training run produces, unless its key is listed here. Seeds and the
# fingerprint of the data are compared separately.
UNRELATED_TO_RESULT = (
    *("seed", "data.seed", "task_name", "tags", "train", "test", "paths", "logger", "extras"),
    *("ckpt_path", "sweep", "metrics"),
    *("data.path", "data.val_path", "data.test_path", "data.delimiter", "data.quotes", "data.cache_dir"),
    *("data.progress", "data.on_device", "trainer.default_root_dir", "trainer.log_every_n_steps"),
    *("callbacks.attention", "callbacks.gradient_norms", "callbacks.finite_loss", "callbacks.baseline"),
    *("callbacks.progress", "callbacks.frozen_states"),
    *("callbacks.last_checkpoint", "callbacks.pruning"),
)
# Destinations of files and uploads, and trusted code: they differ between the machines on which a run is repeated.
LOCAL = ("paths", "logger", "extras", "data.cache_dir", "ckpt_path", "sweep")
# Keys that may be overridden when a run resumes.
KEEPS_TRAINING = (
    *("trainer", "callbacks", "metrics", "tags", "test", "task_name", "ckpt_path", "hydra"),
    *("data.progress", "data.on_device"),
    *LOCAL,
)


def key_of(override: str) -> str:
    """Return the key of an override as typed, without its prefix and its value: `+model.dim=3` → model.dim."""
    return override.lstrip("+~").partition("=")[0]


def join_path(path: str, key: object) -> str:
    """Return the dotted path of a key or a list index below `path`."""
    return f"{path}.{key}" if path else str(key)


def is_within(path: str, keys: Collection[str]) -> bool:
    """Return whether a dotted path equals one of `keys` or is below one of them."""
    return any(path == key or path.startswith(f"{key}.") for key in keys)


def paths_in(node: Any, path: str = "") -> dict[str, Any]:
    """Return all values in a nested dict by their dotted paths, including the inner dicts."""
    paths = {path: node} if path else {}
    for key, value in node.items() if isinstance(node, dict) else ():
        paths |= paths_in(value, join_path(path, key))
    return paths


def plain_value(cfg: DictConfig, path: str) -> Any:
    """Return the plain value at a dotted path; None if there is no value, or a reference in it cannot be resolved."""
    try:
        value = OmegaConf.select(cfg, path)
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    except OmegaConfBaseException:
        return None


def options_in(config: dict[str, Any], unrelated: Collection[str]) -> dict[str, Any]:
    """Return a configuration's options by dotted path, except options of `unrelated` keys; a list is one option."""
    options = {path: value for path, value in paths_in(config).items() if not isinstance(value, dict) or not value}
    return {path: value for path, value in options.items() if not is_within(path, unrelated)}


def changed_options(before: dict[str, Any], after: dict[str, Any], unrelated: Collection[str] = ()) -> list[str]:
    """Describe the options, except `unrelated`, that differ between two configurations: `lr: was 1, but is now 2`."""
    old, new = (options_in(config, unrelated) for config in (before, after))
    paths = (path for path in {**old, **new} if path and old.get(path) != new.get(path))
    return [f"{path}: was {old.get(path)}, but is now {new.get(path)}" for path in paths]
