"""Where the texts to classify come from: the command line, a file, or a pipe."""

import sys
from pathlib import Path

from src.errors import UserError
from src.startup import closed_streams


def read_texts(text: str | None, file: str | None) -> list[str]:
    """The text given, or each line of a file, or each line of standard input; blank lines are passed over.

    Raises:
        UserError: if there is no text, if both ways are given, or if the file is missing or not UTF-8.
    """
    if text is not None and file is not None:
        raise UserError("text=… and file=… are both given: choose one")
    if text is not None:
        # what a terminal sent that is not UTF-8 stands in `text` as lone surrogates
        lines, source = [_decoded(text.encode(errors="surrogateescape"), "text")], "text"
    elif file is not None:
        lines, source = _lines(_contents(Path(file)), file), file
    elif "stdin" in closed_streams or sys.stdin.isatty():
        raise UserError('nothing to classify: give text="…", file=…, or pipe one text per line')
    else:
        lines, source = _lines(sys.stdin.buffer.read(), "standard input"), "standard input"
    texts = [line for line in lines if line.strip()]
    if not texts:
        raise UserError(f"{source}: holds no text")
    return texts


def _contents(path: Path) -> bytes:
    try:
        return path.expanduser().read_bytes()
    except OSError as error:
        raise UserError(f"file={path}: cannot be read ({error.strerror})") from error


def _lines(data: bytes, source: str) -> list[str]:
    """Only line breaks end a line: str.splitlines would also cut at marks that stand within a text."""
    return _decoded(data, source).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{source}: byte {error.start} (line {line}) is not UTF-8; convert it first") from None
