"""The exception for mistakes that the user can fix."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """A mistake in a command, a configuration or a file.

    Commands print its message without a traceback and exit with code 1, so the message must name the file, row, key or
    value at fault, and the remedy.
    """


@contextmanager
def name_file(path: object) -> Iterator[None]:
    """Prefix the message of a `UserError` in the block with `path`, unless the message already starts with it.

    Args:
        path: the file at fault.
    """
    try:
        yield
    except UserError as error:
        if str(error).startswith(str(path)):
            raise
        raise UserError(f"{path}: {error}") from error
