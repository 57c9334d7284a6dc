"""Quote text in Hydra's grammar of overrides."""

import re
from collections.abc import Collection
from typing import Any

from hydra.core.override_parser.types import Quote, QuotedString


def quote_values(arguments: list[str], keys: Collection[str]) -> list[str]:
    """Quote the values of `keys` on a command line: `text=a, b = c` → `text="a, b = c"`."""
    result = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        result.append(f"{key}={quote(value)}" if equals and key in keys else argument)
    return result


def quote(text: str) -> str:
    """Write `text` as a value in Hydra's grammar, so that all characters are preserved."""
    if text == "???":  # OmegaConf's symbol for a missing value
        return """${oc.decode:"'???'"}"""
    return QuotedString(escape_references(text), Quote.double).with_quotes()


def quote_if_needed(text: str) -> str:
    """Write `text` as a value in Hydra's grammar; a simple word or path needs no quotes."""
    return text if re.fullmatch(r"[\w./-]+", text, re.ASCII) else quote(text)


def escape_references(text: str) -> str:
    """Escape each `${` in a text, so that OmegaConf reads it as text and not as a reference."""
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", text)


def escape_all_references(node: Any) -> Any:
    """Escape all references in a plain configuration, because they could read environment variables."""
    if isinstance(node, dict):
        return {key: escape_all_references(value) for key, value in node.items()}
    if isinstance(node, list):
        return [escape_all_references(value) for value in node]
    return escape_references(node) if isinstance(node, str) else node
