"""Quote text in Hydra's grammar of overrides."""

import re
from typing import Any

from hydra.core.override_parser.types import Quote, QuotedString


def quote(text: str) -> str:
    """Write `text` as a value in Hydra's grammar, so that all characters are preserved."""
    if text == "???":  # OmegaConf's symbol for a missing value
        return """${oc.decode:"'???'"}"""
    return QuotedString(escape_references(text), Quote.double).with_quotes()


def quote_if_needed(text: str) -> str:
    """Write `text` as a value in Hydra's grammar; a simple word or path needs no quotes."""
    return text if re.fullmatch(r"[\w./-]+", text, re.ASCII) else quote(text)


def escape_references(node: Any) -> Any:
    r"""Escape each `${` in a text, or in all texts of a plain configuration, so that OmegaConf resolves none of them.

    A reference in a file from someone else could read environment variables.
    """
    if isinstance(node, dict):
        return {key: escape_references(value) for key, value in node.items()}
    if isinstance(node, list):
        return [escape_references(value) for value in node]
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", node) if isinstance(node, str) else node
