"""Read the texts to classify from the command line, a file or a pipe."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from heedful.base.errors import UserError
from heedful.data.tables import FORMATS, Rows, TableFile, gather, parse_delimiter
from heedful.data.text_files import existing_path, file_format, open_text


@dataclass(frozen=True)
class TextSource:
    """A table with a column of texts; it can be read several times."""

    name: str  # of the source, for messages
    read_rows: Callable[[], Iterator[Rows]]  # yields all rows from the start, in chunks
    column: str = "text"

    def chunks(self) -> Iterator[tuple[Rows, list[str]]]:
        """Yield chunks of rows, and the texts of each chunk, some of which may be blank."""
        has_text = False
        for rows in self.read_rows():
            texts = rows.texts(self.column)
            has_text = has_text or any(text.strip() for text in texts)
            yield rows, texts
        if not has_text:
            raise UserError(f"{self.name}: contains no text")


def text_source(
    text: str | None, file: str | None, column: str | None, delimiter: str | None = None, quotes: bool = True
) -> TextSource:
    """Return the source of the texts: the command line, a table, or the lines of a file or of standard input.

    Args:
        text: one text; None reads a file or standard input.
        file: a file with one text per line, or a table if `column` is set.
        column: the column of texts in the table.
        delimiter, quotes: as for `heedful.data.tables.TableFile`.
    """
    if text is not None and file is not None:
        raise UserError("text=… and file=… are both set: remove one of them")
    if column is not None and file is None:
        raise UserError("text_column=… names a column of a file: add file=…")
    if delimiter is not None and column is None:
        raise UserError("delimiter=… applies only to a table: add text_column=…")
    if text is not None:
        return TextSource("text", partial(_lines, [text], "text"))
    if file is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise UserError('nothing to classify: write text="…" or file=…, or pipe one text per line')
        piped = io.StringIO(sys.stdin.buffer.read().decode("utf-8-sig", errors="surrogateescape"), newline="")
        lines = list(piped)  # `Rows.texts` reports those that are not UTF-8
        return TextSource("standard input", partial(_lines, lines, "standard input"))
    path, name = existing_path(file, "file"), f"file={file}"
    if column is not None:
        try:
            table = TableFile(path, [column], True, parse_delimiter(delimiter), quotes)
        except ValueError as error:
            raise UserError(str(error)) from None
        return TextSource(str(path), table.read, column)
    if file_format(path) in FORMATS:
        raise UserError(f"{name}: is a table; name its column of texts with text_column=…")
    return TextSource(name, partial(_lines, path, name))


def _lines(lines: Path | list[str], name: str) -> Iterator[Rows]:
    """Yield the lines of a file, or those given, as rows with the single column `text`."""
    with open_text(lines, name) if isinstance(lines, Path) else nullcontext(lines) as opened:
        yield from gather(name, "line", enumerate(({"text": line.rstrip("\r\n")} for line in opened), start=1))
