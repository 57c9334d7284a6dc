"""Read the texts to classify from the command line, a file or a pipe."""

import sys

from src.data.files import read_text
from src.data.paths import existing_path
from src.data.utf8 import decode, lines_of
from src.errors import UserError
from src.process.startup import closed_streams


def read_texts(text: str | None, file: str | None) -> list[str]:
    """Return the given text, the lines of a file, or the lines of standard input; blank lines are skipped.

    Raises:
        UserError: if there is no text, if both arguments are set, or if the file cannot be read or is not UTF-8.
    """
    if text is not None and file is not None:
        raise UserError("text=… and file=… are both set: remove one of them")
    if text is not None:
        # bytes that are not UTF-8 are lone surrogates in `text`
        lines, source = [decode(text.encode(errors="surrogateescape"), "text")], "text"
    elif file is not None:
        lines, source = (
            lines_of(read_text(existing_path(str(file), "file"), f"file={file}", pipes=True)),
            f"file={file}",
        )
    elif "stdin" in closed_streams or sys.stdin.isatty():
        raise UserError('nothing to classify: write text="…" or file=…, or pipe one text per line')
    else:
        lines, source = lines_of(decode(sys.stdin.buffer.read(), "standard input")), "standard input"
    texts = [line for line in lines if line.strip()]
    if not texts:
        raise UserError(f"{source}: contains no text")
    return texts
