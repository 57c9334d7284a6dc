"""Make the paths of a configuration absolute."""

from pathlib import Path
from typing import Any


def make_paths_absolute(node: Any) -> Any:
    """Return the configuration with absolute paths, so that a checkpoint works from any folder."""
    if not isinstance(node, dict):
        return node

    def make_absolute(key: str, value: Any) -> Any:
        if not isinstance(value, str) or not key.endswith(("path", "_dir")):
            return make_paths_absolute(value)
        path = Path(value).expanduser().absolute()
        return str(path) if key.endswith("_dir") or path.exists() else value  # a name on the hub is not a path

    return {key: make_absolute(str(key), value) for key, value in node.items()}
