"""Write values, and quote text, in Hydra's grammar of overrides."""

import re
from collections.abc import Collection, Iterable
from typing import Any

from hydra.core.override_parser.types import Quote, QuotedString

from src.formatting import format_value


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


def write_override(option: str, value: Any) -> str:
    """Write the override that sets an option, whether or not it exists, to a plain value: `++optimizer.lr=0.5`.

    Raises:
        ValueError: if a name in the option's path or a key in the value cannot be written in Hydra's grammar.
    """
    require_names(option.split("."))
    return f"++{option}={_write_value(value)}"


def _write_value(value: Any) -> str:
    if isinstance(value, dict):
        require_names(value)
        return "{" + ",".join(f"{key}:{_write_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write_value, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return quote(value) if isinstance(value, str) else repr(value)


def require_names(names: Iterable[Any]) -> None:
    """Check that Hydra's grammar accepts names as keys.

    Raises:
        ValueError: if a name is not text, starts with a digit, or has characters besides ASCII letters, digits and _.
    """
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"the option name {format_value(name)} cannot be written on a command line")
