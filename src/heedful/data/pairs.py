"""Texts of two parts, such as a premise and a hypothesis: `data.text=[premise,hypothesis]`."""

from collections.abc import Sequence
from typing import Any

MARK = "\N{SYMBOL FOR RECORD SEPARATOR}"  # ␞, the separator's token in a learned vocabulary; no part contains it
SEPARATOR = f" {MARK} "


class Pair(str):
    """Two texts, which a program that knows nothing of pairs reads as one text with SEPARATOR between them."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[str, str]:
        first, _, second = self.partition(SEPARATOR)
        return first, second


def join_parts(parts: Sequence[str]) -> str:
    """Return a single text itself, and two texts as a pair, in which a space replaces each MARK."""
    return parts[0] if len(parts) == 1 else Pair(SEPARATOR.join(part.replace(MARK, " ") for part in parts))


def parts_of(text: str) -> tuple[str, ...]:
    """Return the two parts of a pair, or a single text as the only part."""
    return text.parts if isinstance(text, Pair) else (text,)


def plain_text(text: str) -> str | list[str]:
    """Return a text as JSON contains it: a pair is a list of two."""
    return list(text.parts) if isinstance(text, Pair) else text


def is_blank(text: str) -> bool:
    """Return whether a text, or a part of a pair, has no letters but whitespace."""
    return not all(part.strip() for part in parts_of(text))


def as_text(value: Any) -> str:
    """Return a text that a program gives; a sequence of two texts is a pair.

    Raises:
        TypeError: if `value` is anything else.
        UnicodeEncodeError: if a text contains half of a surrogate pair.
    """
    parts = [value] if isinstance(value, str) else list(value) if hasattr(value, "__len__") else []
    if not all(isinstance(part, str) for part in parts) or len(parts) != (1 if isinstance(value, str) else 2):
        raise TypeError
    for part in parts:
        part.encode()
    return value if isinstance(value, str) else join_parts(parts)
