"""Paths of a configuration, found from anywhere."""

from pathlib import Path
from typing import Any


def make_paths_absolute(node: Any) -> Any:
    """The configuration with its relative paths made absolute, so that a checkpoint's data is found from anywhere."""
    if not isinstance(node, dict):
        return node

    def anchor(key: str, value: Any) -> Any:
        if not isinstance(value, str) or not key.endswith(("path", "_dir")):
            return make_paths_absolute(value)
        full = Path(value).expanduser().absolute()
        return str(full) if key.endswith("_dir") or full.exists() else value  # a name on the hub is no path

    return {key: anchor(str(key), value) for key, value in node.items()}
