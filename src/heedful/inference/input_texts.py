"""Read the texts to classify from the command line, a file or a pipe."""

import codecs
import io
import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from heedful.base.errors import UserError
from heedful.data.corpus import PARTS
from heedful.data.schema import warn_of_missing
from heedful.data.table import Table
from heedful.data.tables import (
    CHUNK,
    DEFAULT_FORM,
    FORMATS,
    CsvForm,
    Rows,
    TableFile,
    absent_columns,
    decode_json,
    gather,
    json_object,
    parse_delimiter,
    table_columns,
)
from heedful.data.text_files import existing_path, file_format, open_text
from heedful.runtime import PLAIN, NumberForm

PIPED = "standard input"
READ_SIZE = 1 << 20  # bytes
WAIT = 0.01  # seconds for which lines at hand wait for further ones, to share batches with them


@dataclass(frozen=True)
class TextSource:
    """A table with a column of texts, or the two columns of pairs."""

    name: str  # of the source, for messages
    read_rows: Callable[[], Iterator[Rows]]  # yields all rows from the start, in chunks
    columns: Sequence[str] = ("text",)
    others: Sequence[str] = ()  # that the models read beside the text
    numbers: NumberForm = PLAIN  # in texts
    is_stream: bool = False  # whether it can be read only once
    form: CsvForm = DEFAULT_FORM  # of a table with the predictions

    def chunks(self, are_pairs: bool = False) -> Iterator[tuple[Rows, Table]]:
        """Yield chunks of rows, and what the models read of them; a tab divides the cells of one column of pairs."""
        has_text = False
        for rows in self.read_rows():
            table = rows.table(self.columns, self.others, self.numbers)
            if are_pairs and len(self.columns) == 1:
                table = replace(table, texts=[_divide(rows, row, str(text)) for row, text in enumerate(table.texts)])
            has_text = has_text or bool(table.not_blank())
            yield rows, table
        if not has_text:
            raise UserError(f"{self.name}: contains no text")


def _divide(rows: Rows, row: int, text: str) -> tuple[str, str]:
    """Return the two texts of a pair in a line; a blank line is a blank pair."""
    parts = text.split("\t") if text.strip() else ["", ""]
    if len(parts) != 2:
        raise UserError(
            f"{rows.where([row])}: has {len(parts) - 1} tabs, but one must divide the two texts of a pair; write "
            "second=… for the second text of text=…, or text_column=[…,…] for two columns of a table"
        )
    return parts[0], parts[1]


def text_source(
    text: str | None,
    file: str | None,
    column: str | Sequence[str] | None,
    delimiter: str | None = None,
    quotes: bool = True,
    second: str | None = None,
    others: Sequence[str] = (),
    trained_column: str | Sequence[str] = "text",
    numbers: NumberForm = PLAIN,
) -> TextSource:
    """Return the source of the texts: the command line, a table, or the lines of a file or of standard input.

    Args:
        text, second: one text, or a pair; without, a file with one text per line, a table or standard input is read.
        column: of the texts in the table, or the two of pairs; None means `trained_column`, that of the training.
        others: further columns of the table, which the models read; they are missing in other texts.
    """
    if second is not None and text is None:
        raise UserError("second=… is the second text of a pair: add text=…")
    if text is not None and file is not None:
        raise UserError("text=… and file=… are both set: remove one of them")
    if column is not None and file is None:
        raise UserError("text_column=… names a column of a file: add file=…")
    is_table = file is not None and (column is not None or file_format(Path(file)) in FORMATS)
    if delimiter is not None and not is_table:
        raise UserError("delimiter=… applies only to a table: name one with file=…")
    if text is not None:
        warn_of_missing(others)
        cells = {name: cell for name, cell in zip(PARTS, (text, second), strict=True) if cell is not None}
        return TextSource("text", lambda: gather("text", "line", [(1, cells)]), list(cells))
    if file is None:
        if sys.stdin is None:
            raise UserError('nothing to classify: write text="…" or file=…, or pipe one text per line')
        if sys.stdin.isatty():
            print('Type one text per line; Ctrl-D ends. Or write text="…" or file=…', file=sys.stderr)
        return TextSource(PIPED, partial(_piped_lines, others), others=others, numbers=numbers, is_stream=True)
    path, name = existing_path(file, "file"), f"file={file}"
    if is_table:
        column = trained_column if column is None else column
        try:
            columns = [column] if isinstance(column, str) else list(column)
            form = (parse_delimiter(delimiter), quotes)
        except ValueError as error:
            raise UserError(str(error)) from None
        absent = absent_columns(others, table_columns(path, delimiter, quotes, columns)) if others else []
        warn_of_missing(absent)
        table = TableFile(path, [*columns, *(name for name in others if name not in absent)], True, *form)
        return TextSource(str(path), table.read, columns, others, numbers, form=table.form())
    return TextSource(name, partial(_lines, path, name, others), others=others, numbers=numbers)


def _lines(path: Path, name: str, others: Sequence[str]) -> Iterator[Rows]:
    with open_text(path, name) as lines:
        yield from gather(name, "line", _records(lines, name, others))


def _records(
    lines: Iterable[str], name: str, others: Sequence[str], start: int = 1
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield lines as rows with the single column `text`, or, where the models read others, as JSON objects."""
    for number, line in enumerate(lines, start):
        record: dict[str, Any] = {"text": line.rstrip("\r\n")}
        if others and line.startswith("{"):
            where = f"{name}: line {number}"
            record = json_object(decode_json(line, where), where)
        if number == 1:
            warn_of_missing([column for column in others if column not in record])
        yield number, record


def _piped_lines(others: Sequence[str]) -> Iterator[Rows]:
    """Yield the lines of standard input as they arrive: those at hand, but at most CHUNK."""
    pipe, start, text, is_open = sys.stdin.fileno(), 1, "", True
    # `Rows.texts` reports lines that are not UTF-8
    utf8 = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    decoder = io.IncrementalNewlineDecoder(utf8, translate=False)  # keeps \r and \n together
    while is_open:
        lines = list[str]()
        while is_open and not (lines and (len(lines) >= CHUNK or not select.select([pipe], [], [], WAIT)[0])):
            is_open = bool(read := os.read(pipe, READ_SIZE))
            *complete, text = [*io.StringIO(text + decoder.decode(read, final=not is_open), newline=""), ""]
            if complete and is_open and not complete[-1].endswith(("\r", "\n")):
                text = complete.pop()
            lines += complete
        yield from gather(PIPED, "line", _records(lines, PIPED, others, start))
        start += len(lines)
