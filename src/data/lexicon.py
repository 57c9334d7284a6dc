"""Read lexicons, lists of words with strengths, such as VADER (Hutto and Gilbert, 2014) and AFINN (Nielsen, 2011)."""

import math

from src.data.files import existing_file, open_text
from src.errors import UserError
from src.formatting import format_repr


def read_lexicon(path: str) -> dict[str, float]:
    """Return the strength of each word of a lexicon file, with the words in lower case; the default strength is 1.

    Args:
        path: path of a UTF-8 file. Each line has a word and optionally, after a tab (in lines without a tab, after a
            comma), the word's strength. Further columns, blank lines, and lines without a tab that start with `;` or
            `#` are ignored.

    Raises:
        UserError: if the file does not exist, is not text or has no words; or if a line has no word, or a strength that
            is not a finite number; the message then states the line number.
    """
    file = existing_file(path, "path of the lexicon")
    lexicon: dict[str, float] = {}
    with open_text(file) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip() or (line.startswith((";", "#")) and "\t" not in line):
                continue
            word, *columns = (field.strip() for field in line.split("\t" if "\t" in line else ","))
            if not word:
                raise UserError(f"{file}, line {number}: has a strength but no word")
            lexicon[word.lower()] = _strength(columns[0], f"{file}, line {number}", word) if columns else 1.0
    if not lexicon:
        raise UserError(f"{file}: has no words")
    return lexicon


def _strength(field: str, place: str, word: str) -> float:
    try:
        strength = float(field)
    except ValueError:
        strength = math.nan
    if not math.isfinite(strength):
        raise UserError(f"{place}: the strength {format_repr(field)} of {format_repr(word)} is not a finite number")
    return strength
