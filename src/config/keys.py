"""The keys of a configuration: components, the options that affect a result or a duration."""

from collections.abc import Collection, Iterator
from typing import Any

MODEL_COMPONENTS = ("embedding", "position", "encoder", "attention", "pooling", "head")  # in the order of the data flow
MODEL = tuple(f"model.{name}" for name in MODEL_COMPONENTS)
COMPONENTS = ("data", "data.tokenizer", *MODEL, "loss", "optimizer", "trainer")  # required for training
COLLECTIONS = ("callbacks", "logger")  # groups of components
GROUPS_OF_OBJECTS = (*COLLECTIONS, "metrics")

# An option affects a build unless UNRELATED_TO_BUILD lists its key, and it affects a result unless UNRELATED_TO_RESULT
# lists its key.
# Build: which components a run has, and whether they work together.
UNRELATED_TO_BUILD = ("seed", "data.seed", "task_name", "tags", "train", "test", "paths", "logger", "extras")
# Result: the weights that a training run produces. Seeds and the fingerprint of the data are compared separately.
UNRELATED_TO_RESULT = (
    *(*UNRELATED_TO_BUILD, "ckpt_path", "sweep", "metrics"),
    *("data.path", "data.val_path", "data.test_path", "data.delimiter", "data.cache_dir"),
    *("data.progress", "data.on_device", "trainer.default_root_dir", "trainer.log_every_n_steps"),
    *("callbacks.attention", "callbacks.lexicon", "callbacks.gradient_norms", "callbacks.finite_loss"),
    *("callbacks.progress", "callbacks.parts_summary", "callbacks.last_checkpoint", "callbacks.pruning"),
)
# Options of `data` that do not affect which texts are in which split.
UNRELATED_TO_SPLITS = {
    *("tokenizer", "batch_size", "max_length", "keep", "length_buckets", "on_device", "cache_dir", "seed", "progress")
}
# Options that a checkpoint must not set for a resumed run: destinations of files and uploads, and trusted code.
LOCAL = ("paths", "logger", "extras", "data.cache_dir", "ckpt_path", "sweep")
# Keys that may be overridden when a run resumes.
KEEPS_TRAINING = (
    *("trainer", "callbacks", "metrics", "tags", "test", "task_name", "ckpt_path", "hydra"),
    *("data.progress", "data.on_device"),
    *LOCAL,
)


def paths_in(node: Any, path: str = "") -> dict[str, Any]:
    """Return all values in a nested dict or list by their dotted paths, including the inner dicts and lists."""
    paths = {path: node} if path else {}
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        paths |= paths_in(value, f"{path}.{key}" if path else str(key))
    return paths


def options_in(config: dict[str, Any], unrelated: Collection[str]) -> dict[str, Any]:
    """Return a configuration's options by dotted path, except options of `unrelated` keys; a list is one option."""
    return {path: value for path, value in _leaves(config, "") if not is_within(path, unrelated)}


def changed_options(before: dict[str, Any], after: dict[str, Any], unrelated: Collection[str] = ()) -> list[str]:
    """Describe the options, except `unrelated`, that differ between two configurations: `lr: was 1, but is now 2`."""
    old, new = (options_in(config, unrelated) for config in (before, after))
    paths = (path for path in {**old, **new} if path and old.get(path) != new.get(path))
    return [f"{path}: was {old.get(path)}, but is now {new.get(path)}" for path in paths]


def is_within(path: str, keys: Collection[str]) -> bool:
    """Return whether a dotted path equals one of `keys` or is below one of them."""
    return any(path == key or path.startswith(f"{key}.") for key in keys)


def _leaves(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(node, dict) or not node:
        yield path, node
        return
    for key, value in node.items():
        yield from _leaves(value, f"{path}.{key}" if path else str(key))


def key_of(override: str) -> str:
    """Return the key of an override as typed, without its prefix and its value: `+model.dim=3` → model.dim."""
    return override.lstrip("+~").partition("=")[0]
