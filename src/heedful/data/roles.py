"""What the columns of the rows are for: texts, labels, groups, weights, and further columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

PARTS = ("text", "second")  # columns of a corpus with the text, or with the two texts of a pair
READ, KEPT = "read:", "kept:"  # prefixes of the names that the columns `read` and `kept` have in a corpus
Names = str | Sequence[str] | None


@dataclass(frozen=True)
class Roles:
    """The columns of the rows by their roles.

    Args:
        text: the texts, or the two texts of pairs.
        label: the labels, or several columns of 0 and 1, one for each label.
        group, weight: the groups of the rows, and the weights of training rows; None without.
        read, kept: further columns: the model reads the former, which are spelled; the latter are copied as they are.
    """

    text: tuple[str, ...]
    label: tuple[str, ...]
    group: str | None
    weight: str | None
    read: tuple[str, ...]
    kept: tuple[str, ...]

    @classmethod
    def of(cls, text: Names, label: Names, group: str | None, weight: str | None, read: Names, kept: Names) -> "Roles":
        """Return the roles that the options of the data name; a ValueError names a column that has two."""
        texts, labels, columns, copied = (
            (names,) if isinstance(names, str) else tuple(dict.fromkeys(names or ()))
            for names in (text, label, read, kept)
        )
        if both := [name for name in texts if name in labels]:
            raise ValueError(f"text={both[0]!r}: is also the column of labels: set data.text or data.label")
        named = [*zip(PARTS, texts, strict=False), *(("label", name) for name in labels)]
        for role, name in (*named, ("group", group), ("weight", weight)):
            if name in columns:
                raise ValueError(f"columns: {name!r} is also data.{role}, which a model must not read twice: remove it")
        return cls(texts, labels, group, weight, columns, copied)

    @property
    def are_pairs(self) -> bool:
        return len(self.text) == 2

    @property
    def has_indicators(self) -> bool:
        """Whether there is a column for each label."""
        return len(self.label) > 1

    @property
    def unweighted(self) -> "Roles":
        return replace(self, weight=None)

    @property
    def content(self) -> list[str]:
        """The columns that determine the texts and labels of a split."""
        return [*self.text, *self.label, *filter(None, [self.group])]

    @property
    def further(self) -> list[str]:
        return list(dict.fromkeys([*self.kept, *self.read]))

    @property
    def every(self) -> list[str]:
        return list(dict.fromkeys([*self.content, *filter(None, [self.weight]), *self.further]))
