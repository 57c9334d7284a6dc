"""The exception for mistakes that the user can fix, and how to recognize errors that a too large model causes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

TOO_LARGE = re.compile(r"overflow|too large|invalid.*(size|dimension)|out of memory|allocate memory", re.IGNORECASE)


class UserError(Exception):
    """A mistake in a command, a configuration or a file.

    Commands print its message without a traceback and exit with code 1, so the message must name the file, row, key or
    value at fault, and the remedy.
    """


@contextmanager
def name_file(path: object) -> Iterator[None]:
    """Prefix the message of a `UserError` in the block with `path`, unless the message already starts with it."""
    try:
        yield
    except UserError as error:
        if str(error).startswith(str(path)):
            raise
        raise UserError(f"{path}: {error}") from error


def is_size_error(error: Exception) -> bool:
    """Return whether torch raised `error` because a tensor is too large, on any device, including meta."""
    kinds = (RuntimeError, MemoryError, OverflowError, TypeError)
    return isinstance(error, kinds) and TOO_LARGE.search(str(error)) is not None
