"""The dotted paths of a configuration."""

from typing import Any


def paths_in(node: Any, path: str = "") -> dict[str, Any]:
    """Every dotted path of a plain nested dict or list, the inner ones included."""
    found = {path: node} if path else {}
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        found |= paths_in(value, f"{path}.{key}" if path else str(key))
    return found
