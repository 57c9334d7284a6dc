"""Where the texts to classify come from: the command line, a file, or a pipe."""

import sys

from src.cli.startup import closed_streams
from src.data.files import decode, existing_path, lines_of, read_text
from src.errors import UserError


def read_texts(text: str | None, file: str | None) -> list[str]:
    """The text given, or each line of a file, or each line of standard input; blank lines are passed over.

    Raises:
        UserError: if there is no text, if both ways are given, or if the file cannot be read or is not UTF-8.
    """
    if text is not None and file is not None:
        raise UserError("text=… and file=… are both given: choose one")
    if text is not None:
        # what a terminal sent that is not UTF-8 stands in `text` as lone surrogates
        lines, source = [decode(text.encode(errors="surrogateescape"), "text")], "text"
    elif file is not None:
        lines, source = (
            lines_of(read_text(existing_path(str(file), "file"), f"file={file}", pipes=True)),
            f"file={file}",
        )
    elif "stdin" in closed_streams or sys.stdin.isatty():
        raise UserError('nothing to classify: give text="…", file=…, or pipe one text per line')
    else:
        lines, source = lines_of(decode(sys.stdin.buffer.read(), "standard input")), "standard input"
    texts = [line for line in lines if line.strip()]
    if not texts:
        raise UserError(f"{source}: holds no text")
    return texts
