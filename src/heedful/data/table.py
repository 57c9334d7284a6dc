"""What a model reads of n rows, by column: one text or the two of a pair, and the cells of further columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from heedful import runtime
from heedful.runtime import MARK

Text = str | tuple[str, str]  # one text, or the two of a pair
Where = Callable[[Sequence[int]], str]  # names the places of rows, such as "a.csv: lines 3, 9"
SEPARATOR = f" {MARK} "  # the mark is the token of a learned vocabulary; no text of a pair contains it


def _numbers(rows: Sequence[int]) -> str:
    return f"text {rows[0] + 1}"


@dataclass(frozen=True)
class Table:
    """Rows in memory, or mapped into it, with spelled cells by column; those of columns that it lacks are missing."""

    texts: Sequence[Text]
    cells: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    where: Where = _numbers

    def __len__(self) -> int:
        return len(self.texts)

    @classmethod
    def of(cls, texts: "Table | Sequence[Text]") -> "Table":
        return texts if isinstance(texts, Table) else cls(texts)

    def take(self, rows: Sequence[int]) -> "Table":
        cells = {name: [column[row] for row in rows] for name, column in self.cells.items()}
        return Table([self.texts[row] for row in rows], cells, lambda wrong: self.where([rows[i] for i in wrong]))

    def not_blank(self) -> list[int]:
        """Return the rows whose texts have letters."""
        return [row for row, text in enumerate(self.texts) if not is_blank(text)]


def parts_of(text: Text) -> tuple[str, ...]:
    """Return the two parts of a pair, or a single text as the only part."""
    return (text,) if isinstance(text, str) else text


def join_parts(text: Text) -> str:
    """Return a pair as one text, for people and hashes."""
    return text if isinstance(text, str) else SEPARATOR.join(part.replace(MARK, " ") for part in text)


def is_blank(text: Text) -> bool:
    """Return whether a text, or a part of a pair, has no letters but whitespace."""
    return runtime.is_blank(parts_of(text))
