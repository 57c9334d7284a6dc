"""What a model reads of a row: one text, or the two of a pair (`data.text=[premise,hypothesis]`)."""

from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from heedful.base.errors import UserError

MARK = "\N{SYMBOL FOR RECORD SEPARATOR}"  # ␞, the separator's token in a learned vocabulary; no part contains it
SEPARATOR = f" {MARK} "
PAIRS = "give both: text=… second=…, text_column=[…,…], lines with a tab between the texts, or tuples in Python"
SINGLE = "name one column, or give one text for each"


class Text(str):
    """What a model reads of a row; a program that knows nothing of pairs reads one text with SEPARATOR in it.

    Args:
        parts: the text, or the two texts of a pair, in which a space replaces each MARK.
    """

    parts: tuple[str, ...]

    def __new__(cls, parts: Sequence[str]) -> Self:
        own = tuple(part.replace(MARK, " ") for part in parts) if len(parts) > 1 else tuple(parts)
        self = super().__new__(cls, SEPARATOR.join(own))
        self.parts = own
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # of a copy
        return (self.parts,)


class TextForm(BaseModel):
    """What a model reads of each row."""

    model_config = ConfigDict(frozen=True)

    pairs: bool = False  # whether each text is a pair

    def form(self) -> dict[str, Any]:
        """Return the fields of this class, without those of a subclass."""
        return {name: getattr(self, name) for name in TextForm.model_fields}

    def check(self, are_pairs: bool, where: str = "texts") -> None:
        """Raise a UserError if the model reads pairs, but these texts are none, or the other way round."""
        if are_pairs != self.pairs:
            expected = "pairs of texts" if self.pairs else "single texts, not pairs"
            raise UserError(f"{where}: the model reads {expected}: {PAIRS if self.pairs else SINGLE}")


SINGLE_TEXTS = TextForm()


def join_parts(parts: Sequence[str]) -> str:
    """Return a single text itself, and two texts as a pair."""
    return parts[0] if len(parts) == 1 else Text(parts)


def parts_of(text: str) -> tuple[str, ...]:
    """Return the two parts of a pair, or a single text as the only part."""
    return text.parts if isinstance(text, Text) else (text,)


def plain_text(text: str) -> str | list[str]:
    """Return a text as JSON contains it: a pair is a list of two."""
    parts = parts_of(text)
    return list(parts) if len(parts) > 1 else text


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
    return value if isinstance(value, str) else Text(parts)
