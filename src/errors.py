"""The exception for errors that the user can fix."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """A mistake in a command, a configuration or a data file.

    Entry points print its message without a traceback and exit with code 1, so the message itself must name the wrong
    file, row, key or value, and the remedy.
    """


@contextmanager
def name_file(path: object) -> Iterator[None]:
    """Prefix the message of a `UserError` with the file that causes it, unless the message starts with the file.

    Raises:
        UserError: if the block raises it.
    """
    try:
        yield
    except UserError as error:
        if str(error).startswith(str(path)):
            raise
        raise UserError(f"{path}: {error}") from error
