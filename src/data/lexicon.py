"""Word lists with strengths, such as VADER's (Hutto and Gilbert, 2014) and AFINN's (Nielsen, 2011)."""

import math

from src.data.files import existing_file, lines_of, read_text
from src.data.listing import shown
from src.errors import UserError


def read_lexicon(path: str) -> dict[str, float]:
    """The words of a file in lower case, each with its strength; 1 where the file gives none.

    Args:
        path: UTF-8, a word at the start of each line, its strength behind a tab or, where there is none, a comma.
            Columns behind that, blank lines, and lines that start with `;` or `#` and hold no tab are passed over.

    Raises:
        UserError: if the file is not there, is no text, holds no word, or has a strength that is no number; names
            the line.
    """
    file = existing_file(path, "path of the lexicon")
    lexicon: dict[str, float] = {}
    for number, line in enumerate(lines_of(read_text(file)), 1):
        if not line.strip() or (line.startswith((";", "#")) and "\t" not in line):
            continue
        word, *behind = (field.strip() for field in line.split("\t" if "\t" in line else ","))
        if not word:
            raise UserError(f"{file}, line {number}: has no word before its strength")
        lexicon[word.lower()] = _strength(behind[0], f"{file}, line {number}", word) if behind else 1.0
    if not lexicon:
        raise UserError(f"{file}: holds no word")
    return lexicon


def _strength(field: str, place: str, word: str) -> float:
    try:
        strength = float(field)
    except ValueError:
        strength = math.nan
    if not math.isfinite(strength):
        raise UserError(f"{place}: the strength {shown(field)} of {shown(word)} is no number")
    return strength
