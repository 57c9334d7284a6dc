"""The keys of a configuration: components, metrics, options that affect a result, and values by path."""

import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

PACKAGE = Path(__file__).resolve().parents[1]
IS_INSTALLED = (PACKAGE / "conf").is_dir()  # from a wheel; otherwise the package is part of a clone
CONF = PACKAGE / "conf" if IS_INSTALLED else PACKAGE.parents[1] / "conf"

MODEL_COMPONENTS = ("embedding", "position", "encoder", "attention", "pooling", "head")  # in the order of the data flow
MODEL = tuple(f"model.{name}" for name in MODEL_COMPONENTS)

# An option affects a result, the weights that a training run produces, unless its key is listed here. Seeds and the
# fingerprint of the data are compared separately.
UNRELATED_TO_RESULT = (
    *("seed", "data.seed", "task_name", "tags", "test", "paths", "logger", "extras", "threads"),
    *("ckpt_path", "sweep", "metrics", "train"),  # `train` is an option in released records only
    *("data.path", "data.val_path", "data.test_path", "data.delimiter", "data.quotes", "data.duplicates"),
    *("data.keep_columns", "data.cache_dir", "data.progress", "data.on_device"),
    *("trainer.default_root_dir", "trainer.log_every_n_steps"),
    *("callbacks.attention", "callbacks.gradient_norms", "callbacks.finite_loss", "callbacks.baseline"),
    *("callbacks.progress", "callbacks.frozen_states", "callbacks.removal"),
    *("callbacks.last_checkpoint", "callbacks.pruning"),
    *("callbacks.best_checkpoint.mode", "callbacks.early_stopping.mode"),  # which follow from the monitored metric
)
# Destinations of files and uploads, and trusted code: they differ between the machines on which a run is repeated.
LOCAL = ("paths", "logger", "extras", "threads", "data.cache_dir", "ckpt_path", "sweep")
# Keys that may be overridden when a run resumes.
MAY_CHANGE_ON_RESUME = (
    *("trainer", "callbacks", "metrics", "tags", "test", "task_name", "ckpt_path", "hydra", "calibrate"),
    *("data.progress", "data.on_device", "data.keep_columns"),
    *LOCAL,
)
# Components that a training takes from the model of `init_from`, and options on which weights do not depend.
ALWAYS_TAKEN = ("embedding", "position", "encoder")
OF_TRAINING = tuple(
    f"model.{part}.{name}" for part in MODEL_COMPONENTS for name in ("dropout", "word_dropout", "freeze", "max_length")
)
# Options of later versions, with the values that the results of earlier versions have.
LATER = {"calibrate": False, "data.columns": None, "data.weight": None}


def is_conf(folder: Path) -> bool:
    """Return whether a folder is conf/ of an installation or a clone, this or another one, also of an earlier one."""
    above = folder.parent
    clones = (above / "src" / "heedful", above / "hydra_plugins" / "heed.py")
    return folder.name == "conf" and (above.name == "heedful" or any(map(Path.exists, clones)))


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


def referenced_names(values: Mapping[str, Any]) -> set[str]:
    """Return the names at the top of a configuration to which references such as ${size} in these values may refer."""
    texts = (str(value) for value in values.values() if isinstance(value, str | list))
    return {name for text in texts for name in re.findall(r"\$\{\.*(\w+)", text)}


def plain_value(cfg: DictConfig, path: str) -> Any:
    """Return the plain value at a dotted path; None if there is no value, or a reference in it cannot be resolved."""
    try:
        value = OmegaConf.select(cfg, path)
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    except OmegaConfBaseException:
        return None


def options_in(config: dict[str, Any], unrelated: Collection[str]) -> dict[str, Any]:
    """Return a configuration's options by dotted path, except options of `unrelated` keys; a list is one option.

    An empty node has no options: a part without options may be new since an earlier version. So may those in LATER.
    """
    options = {path: value for path, value in paths_in(config).items() if not isinstance(value, dict)}
    known = {path: value for path, value in options.items() if path not in LATER or value != LATER[path]}
    return {path: value for path, value in known.items() if not is_within(path, unrelated)}


def rename_earlier(node: Any) -> Any:
    """Return a configuration that an earlier version has written with today's names of classes and options."""
    if isinstance(node, list):
        return [rename_earlier(item) for item in node]
    if not isinstance(node, dict):
        return node
    renamed = {key: rename_earlier(value) for key, value in node.items()}
    if isinstance(target := node.get("_target_"), str):
        target = re.sub(r"^src\.(?=(callbacks|loggers|optim)\.)", "heedful.training.", target)
        renamed["_target_"] = re.sub(r"^src\.", "heedful.", target)
    if isinstance(data := renamed.get("data"), dict) and isinstance(data.get("rationale"), str):
        data["keep_columns"] = [data.pop("rationale")]  # the study reads it
    return renamed


def changed_options(before: dict[str, Any], after: dict[str, Any], unrelated: Collection[str]) -> list[str]:
    """Describe the options, except `unrelated`, that differ between two configurations: `lr: was 1, but is now 2`."""
    old, new = (options_in(config, unrelated) for config in (before, after))
    paths = (path for path in {**old, **new} if path and old.get(path) != new.get(path))
    return [f"{path}: was {old.get(path)}, but is now {new.get(path)}" for path in paths]


def make_paths_absolute(value: Any, key: str = "") -> Any:
    """Return the plain value of `key`, or a whole configuration, with absolute paths.

    If the name of an option ends with `path` and the path does not exist, its value is unchanged: it may be a name on
    the hub. A checkpoint that records absolute paths works from any folder.
    """
    if isinstance(value, dict):
        return {name: make_paths_absolute(item, str(name)) for name, item in value.items()}
    if isinstance(value, list) and key.endswith("path"):
        return [make_paths_absolute(item, key) for item in value]
    if not isinstance(value, str) or not key.endswith(("path", "_dir")):
        return value
    path = Path(value).expanduser().absolute()
    return str(path) if key.endswith("_dir") or path.exists() else value


@cache
def default_metrics() -> dict[str, dict[str, Any]]:
    """Return the nodes of the default metrics by name; no run may change their definitions."""
    path = CONF / "metrics" / "default.yaml"
    nodes: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return nodes


@cache
def choices(group: str) -> dict[str, str]:
    """Return the classes of the choices in a config group, as dotted paths by name, as far as their files name one."""
    nodes = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in (CONF / group).glob("*.yaml")}
    targets = {name: plain.get(group, plain).get("_target_") for name, node in nodes.items() for plain in [node or {}]}
    return {name: target for name, target in sorted(targets.items()) if target}


def choice_of(group: str, target: str) -> str:
    """Return the override that chooses a class, such as loss=cross_entropy."""
    found = [name for name, path in choices(group).items() if path == target]
    return f"{group}={found[0]}" if found else f"{group}._target_={target}"


def metric_nodes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes of the metrics by name, except metrics that are null."""
    group = values.get("metrics")
    return {str(name): node for name, node in group.items() if node is not None} if isinstance(group, dict) else {}
