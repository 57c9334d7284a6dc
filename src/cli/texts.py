"""Read the texts to classify from the command line, a file or a pipe."""

import sys

from src.data.examples import cell_texts
from src.data.files import file_format, read_text
from src.data.paths import existing_path
from src.data.readers import READERS, read_rows
from src.data.rows import Rows, check_columns
from src.data.utf8 import decode, lines_of
from src.errors import UserError
from src.process.startup import closed_streams


def read_texts(text: str | None, file: str | None, column: str | None = None) -> tuple[Rows, list[str]]:
    """Read the text of the command line, the rows of a file, or the lines of a file or of standard input.

    Args:
        text: a text; None reads a file or standard input.
        file: a file of one text per line, or of a table if `column` is set.
        column: the column of texts in the table.

    Returns:
        The rows with all columns, and the text of each; it may be blank.

    Raises:
        UserError: if all texts are blank, if the options contradict each other, or if the file cannot be read or is
            not UTF-8.
    """
    if text is not None and file is not None:
        raise UserError("text=… and file=… are both set: remove one of them")
    if column is not None and file is None:
        raise UserError("text_column=… names a column of a file: add file=…")
    if text is not None:
        # bytes that are not UTF-8 are lone surrogates in `text`
        rows = _line_rows([decode(text.encode(errors="surrogateescape"), "text")], "text")
    elif file is not None:
        rows = _file_rows(str(file), column)
    elif "stdin" in closed_streams or sys.stdin.isatty():
        raise UserError('nothing to classify: write text="…" or file=…, or pipe one text per line')
    else:
        rows = _line_rows(_lines(decode(sys.stdin.buffer.read(), "standard input")), "standard input")
    texts = cell_texts(rows, column or "text")
    if not any(value.strip() for value in texts):
        raise UserError(f"{rows.source}: contains no text")
    return rows, texts


def _file_rows(file: str, column: str | None) -> Rows:
    path = existing_path(file, "file")
    if column is None:
        if file_format(path) in READERS:
            raise UserError(f"file={file}: is a table; name its column of texts with text_column=…")
        return _line_rows(_lines(read_text(path, f"file={file}", pipes=True)), f"file={file}")
    rows = read_rows(path, None)
    check_columns(rows.source, [column], list(rows.columns), "text_column")
    return rows


def _line_rows(lines: list[str], source: str) -> Rows:
    return Rows(source, "line", range(1, len(lines) + 1), {"text": lines})


def _lines(text: str) -> list[str]:
    """The lines of a text; the last line break ends the last line."""
    lines = lines_of(text)
    return lines if lines[-1] else lines[:-1]
