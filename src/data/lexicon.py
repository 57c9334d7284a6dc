"""Read lexicons, lists of words with strengths, such as VADER (Hutto and Gilbert, 2014) and AFINN (Nielsen, 2011)."""

import math

from src.data.files import existing_file, open_text
from src.errors import UserError
from src.formatting import format_repr


def read_lexicon(path: str) -> dict[str, float]:
    """Return the strength of each word of a lexicon file, with the words in lower case; the default strength is 1.

    Each line has a word and optionally, after a tab (in lines without a tab, after a comma), the word's strength.
    Further columns, blank lines, and lines without a tab that start with `;` or `#` are ignored.

    Raises:
        UserError: if the file does not exist, is not text or has no words, or if a line is not a word with a strength.
    """
    file = existing_file(path, "path of the lexicon")
    lexicon: dict[str, float] = {}
    with open_text(file) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip() or (line.startswith((";", "#")) and "\t" not in line):
                continue
            word, *columns = (field.strip() for field in line.split("\t" if "\t" in line else ","))
            try:
                lexicon[word.lower()] = strength = float(columns[0]) if columns else 1.0
            except ValueError:
                strength = math.nan
            if not word or not math.isfinite(strength):
                entry = format_repr(line.strip())
                raise UserError(f"{file}, line {number}: {entry} is not a word with a finite strength")
    if not lexicon:
        raise UserError(f"{file}: has no words")
    return lexicon
