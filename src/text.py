"""Read the texts to classify from the command line, a file or a pipe."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from src.data.files import decode, existing_path, file_format, open_file, open_text
from src.data.tables import CHUNK, FORMATS, Rows, parse_delimiter, read_file
from src.errors import UserError


@dataclass(frozen=True)
class TextSource:
    """A table with a column of texts; it can be read several times.

    Args:
        name: name of the source, for messages.
        column: name of the column of texts.
        read_rows: yields all rows from the start, in chunks.
    """

    name: str
    column: str
    read_rows: Callable[[], Iterator[Rows]]

    def chunks(self) -> Iterator[tuple[Rows, list[str]]]:
        """Yield chunks of rows, and the texts of each chunk, some of which may be blank.

        Raises:
            UserError: if the source cannot be read, lacks the column, has a value in this column that is not a text,
                or contains only blank texts.
        """
        has_text = False
        for rows in self.read_rows():
            texts = rows.texts(self.column)
            has_text = has_text or any(text.strip() for text in texts)
            yield rows, texts
        if not has_text:
            raise UserError(f"{self.name}: contains no text")


def text_source(
    text: str | None, file: str | None, column: str | None = None, delimiter: str | None = None, quotes: bool = True
) -> TextSource:
    """Return the source of the texts: the command line, a table, or the lines of a file or of standard input.

    Args:
        text: one text; None reads a file or standard input.
        file: a file with one text per line, or a table if `column` is set.
        column: the column of texts in the table.
        delimiter, quotes: as for `src.data.tables.read_file`.

    Raises:
        UserError: if the options are invalid or contradict each other, the file does not exist, there is nothing to
            classify, or `text` or standard input is not UTF-8. Errors in a file may be raised later, by `chunks`.
    """
    if text is not None and file is not None:
        raise UserError("text=… and file=… are both set: remove one of them")
    if column is not None and file is None:
        raise UserError("text_column=… names a column of a file: add file=…")
    if delimiter is not None and column is None:
        raise UserError("delimiter=… applies only to a table: add text_column=…")
    if text is not None:  # its bytes that are not UTF-8 are lone surrogates
        return _line_source("text", [decode(text.encode(errors="surrogateescape"), "text")])
    if file is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise UserError('nothing to classify: write text="…" or file=…, or pipe one text per line')
        return _line_source("standard input", _lines(decode(sys.stdin.buffer.read(), "standard input")))
    path, name = existing_path(file, "file"), f"file={file}"
    if column is not None:
        try:
            parsed = parse_delimiter(delimiter)
        except ValueError as error:
            raise UserError(str(error)) from None
        return TextSource(str(path), column, partial(read_file, path, [column], True, parsed, quotes))
    if file_format(path) in FORMATS:
        raise UserError(f"{name}: is a table; name its column of texts with text_column=…")
    if path.is_fifo():  # a pipe can be read only once
        with open_file(path, name, pipes=True) as stream:
            return _line_source(name, _lines(decode(stream.read(), name)))
    return TextSource(name, "text", partial(_file_rows, path, name))


def _line_source(name: str, lines: list[str]) -> TextSource:
    return TextSource(name, "text", partial(_line_rows, lines, name))


def _file_rows(path: Path, name: str) -> Iterator[Rows]:
    with open_text(path, name) as text:
        yield from _line_rows((line.rstrip("\r\n") for line in text), name)


def _line_rows(lines: Iterable[str], name: str) -> Iterator[Rows]:
    lines, start = iter(lines), 1
    while chunk := list(islice(lines, CHUNK)):
        yield Rows(name, "line", range(start, start + len(chunk)), {"text": chunk})
        start += len(chunk)


def _lines(text: str) -> list[str]:
    """Return the lines of a text; a line break at its end does not start another, empty line."""
    return [line.rstrip("\r\n") for line in io.StringIO(text, newline="")]
