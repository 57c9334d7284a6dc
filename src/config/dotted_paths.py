"""The dotted paths of a configuration."""

from typing import Any


def paths_in(node: Any, path: str = "") -> dict[str, Any]:
    """All dotted paths of a plain nested dict or list with their values, including inner nodes."""
    paths = {path: node} if path else {}
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        paths |= paths_in(value, f"{path}.{key}" if path else str(key))
    return paths
