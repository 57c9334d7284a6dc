"""Word lists with strengths, such as VADER's (Hutto and Gilbert, 2014) and AFINN's (Nielsen, 2011)."""

from src.data.files import existing_file
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
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: is not UTF-8 text, from byte {error.start} on; name a list of words") from None
    lexicon: dict[str, float] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or (line.startswith((";", "#")) and "\t" not in line):
            continue
        word, *behind = line.strip().split("\t" if "\t" in line else ",")
        try:
            lexicon[word.lower()] = float(behind[0]) if behind else 1.0
        except ValueError:
            raise UserError(f"{file}, line {number}: the strength {behind[0]!r} of {word!r} is no number") from None
    if not lexicon:
        raise UserError(f"{file}: holds no word")
    return lexicon
