"""The exception for mistakes that the user can correct."""


class UserError(Exception):
    """A mistake in a command, a config or a data file.

    Entry points print its message without a traceback and exit with code 1, so the message itself must name the
    file, row, key or value at fault and say what to do.
    """
