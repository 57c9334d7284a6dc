"""Read the texts to classify from the command line, a file or a pipe."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice
from pathlib import Path

from src.data.delimiter import parse_delimiter
from src.data.examples import cell_texts
from src.data.files import BLOCK, file_format, open_text
from src.data.paths import existing_path
from src.data.readers import CHUNK, READERS, read_chunks
from src.data.rows import Rows, check_columns, join_rows
from src.data.utf8 import decode, lines_of
from src.errors import UserError
from src.process.startup import closed_streams

LARGEST_JSON = 256 << 20  # maximum number of characters in a .json file, which is read as a whole


@dataclass(frozen=True)
class TextSource:
    """A table with a column of texts; it can be read several times.

    Args:
        name: name of the source, for messages.
        column: name of the column of texts.
        read_rows: yields all rows from the start, in chunks.
        columns_may_vary: whether a row may lack columns that other rows have, as in JSON.
    """

    name: str
    column: str
    read_rows: Callable[[], Iterator[Rows]]
    columns_may_vary: bool = False

    def chunks(self) -> Iterator[tuple[Rows, list[str]]]:
        """Yield chunks of rows, and the texts of each chunk, some of which may be blank.

        Raises:
            UserError: if the source cannot be read, lacks the column, has a value in this column that is not a text,
                or contains only blank texts.
        """
        names: dict[str, None] = {}
        has_text = False
        for rows in self.read_rows():
            names |= dict.fromkeys(rows.columns)
            if not self.columns_may_vary:
                self._require_column(names)
            values = rows.columns.get(self.column, [None] * len(rows.places))
            texts = cell_texts(replace(rows, columns={self.column: values}), self.column)
            has_text = has_text or any(text.strip() for text in texts)
            yield rows, texts
        if self.columns_may_vary:
            self._require_column(names)
        if not has_text:
            raise UserError(f"{self.name}: contains no text")

    def read(self) -> tuple[Rows, list[str]]:
        """Read all rows, and the text of each; errors are those of `chunks`."""
        chunks = list(self.chunks())
        return join_rows(rows for rows, _ in chunks), [text for _, texts in chunks for text in texts]

    def _require_column(self, names: Iterable[str]) -> None:
        check_columns(self.name, [self.column], list(names), "text_column")


def text_source(
    text: str | None, file: str | None, column: str | None = None, delimiter: str | None = None
) -> TextSource:
    """Return the source of the texts: the command line, a table, or the lines of a file or of standard input.

    Args:
        text: one text; None reads a file or standard input.
        file: a file with one text per line, or a table if `column` is set.
        column: the column of texts in the table.
        delimiter: delimiter of a CSV or TSV file; None detects it.

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
    if text is not None:
        # bytes that are not UTF-8 are lone surrogates in `text`
        return _line_source([decode(text.encode(errors="surrogateescape"), "text")], "text")
    if file is not None:
        return _file_source(str(file), column, delimiter)
    if "stdin" in closed_streams or sys.stdin.isatty():
        raise UserError('nothing to classify: write text="…" or file=…, or pipe one text per line')
    return _line_source(_lines(decode(sys.stdin.buffer.read(), "standard input")), "standard input")


def _file_source(file: str, column: str | None, delimiter: str | None) -> TextSource:
    path = existing_path(file, "file")
    name = f"file={file}"
    if column is not None:
        return _table_source(path, column, delimiter)
    if file_format(path) in READERS:
        raise UserError(f"{name}: is a table; name its column of texts with text_column=…")
    if path.is_fifo():  # a pipe can be read only once
        with open_text(path, name, pipes=True) as text:
            return _line_source(_lines(text.read()), name)
    return TextSource(name, "text", partial(_file_rows, path, name))


def _table_source(path: Path, column: str, delimiter: str | None) -> TextSource:
    try:
        delimiter = parse_delimiter(delimiter)
    except ValueError as error:
        raise UserError(str(error)) from None
    if file_format(path) == ".json":
        _check_json_size(path)
    read_rows = partial(read_chunks, path, None, delimiter)
    return TextSource(str(path), column, read_rows, columns_may_vary=file_format(path) in (".json", ".jsonl"))


def _check_json_size(path: Path) -> None:
    """Raise a UserError if a JSON array is too large to be read as a whole."""
    size = 0
    with open_text(path) as text:
        while block := text.read(BLOCK):
            size += len(block)
            if size > LARGEST_JSON:
                raise UserError(
                    f"{path} has more than {LARGEST_JSON:,} characters, and a JSON array is read as a whole; write one "
                    "object per line to a .jsonl file"
                )


def _line_source(lines: list[str], name: str) -> TextSource:
    return TextSource(name, "text", partial(_line_rows, lines, name))


def _file_rows(path: Path, name: str) -> Iterator[Rows]:
    with open_text(path, name) as text:
        yield from _line_rows((line.rstrip("\r\n") for line in text), name)


def _line_rows(lines: Iterable[str], name: str) -> Iterator[Rows]:
    lines = iter(lines)
    for start in count(1, CHUNK):
        if not (chunk := list(islice(lines, CHUNK))):
            break
        yield Rows(name, "line", range(start, start + len(chunk)), {"text": chunk})


def _lines(text: str) -> list[str]:
    """Return the lines of a text; a line break at its end does not start another, empty line."""
    lines = lines_of(text)
    return lines if lines[-1] else lines[:-1]
