"""The exception for errors that the user can fix."""


class UserError(Exception):
    """A mistake in a command, a configuration or a data file.

    Entry points print its message without a traceback and exit with code 1, so the message itself must name the wrong
    file, row, key or value, and the remedy.
    """
