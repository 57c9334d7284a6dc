"""Values that are text as the user typed it, made safe for Hydra's grammar."""

import re
from collections.abc import Collection

from hydra.core.override_parser.types import Quote, QuotedString


def quote_values(arguments: list[str], keys: Collection[str]) -> list[str]:
    """The command line with the values of `keys` in quotes: `text=a, b = c` → `text="a, b = c"`."""
    result = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        result.append(f"{key}={quote(value)}" if equals and key in keys else argument)
    return result


def quote(text: str) -> str:
    """A value in Hydra's grammar that means exactly `text`, whatever characters it holds."""
    if text == "???":  # OmegaConf's mark of a missing value
        return """${oc.decode:"'???'"}"""
    return QuotedString(re.sub(r"(\\*)\$\{", r"\1\1\\${", text), Quote.double).with_quotes()
