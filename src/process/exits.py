"""End a command with one message after a signal or an error that the user can fix."""

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from src.errors import UserError
from src.process.startup import drop_if_broken

MESSAGES = {  # message → error numbers that only the environment causes
    "the disk is full, so {path} could not be written; free some space and run again": "ENOSPC EDQUOT",
    "{path}: the file is larger than allowed; raise the limit (ulimit -f), or choose another folder": "EFBIG",
    "{path} is on a read-only file system; choose another path": "EROFS",
    "{path}: permission denied; change its permissions, or choose another path": "EACCES EPERM",
    "{path}: a file exists where a folder is needed; remove it, or choose another path": "ENOTDIR EEXIST",
    "{path}: a folder exists where a file is needed; remove it, or choose another path": "EISDIR",
    "{path}: the name is too long; choose a shorter one": "ENAMETOOLONG",
    "{path}: its symbolic links form a loop; correct them, or choose another path": "ELOOP",
    "{path} could not be opened: too many files are open; raise the limit (ulimit -n) and run again": "EMFILE ENFILE",
    "not enough memory; close other programs, or choose a smaller model or batch size": "ENOMEM",
    "{path}: the device failed ({reason}); check it and run again": "EIO ESTALE ENXIO ENODEV",
}
CAUSES = {getattr(errno, name): message for message, names in MESSAGES.items() for name in names.split()}


@contextmanager
def exit_with_message(folder: str) -> Iterator[None]:
    """End the program with one message after a `UserError`, an error of the environment or a signal in the block.

    Standard output is flushed at the end of the block, so that a full disk or a closed pipe is detected.

    Args:
        folder: the path that the message names if the error has no path.

    Raises:
        SystemExit: after such an error or signal; the exit code is 128 plus the signal's number after a signal, and
            otherwise 1.
    """
    try:
        try:
            yield
        except SystemExit as end:  # raised by argparse after --help
            if not end.code:
                _flush()
            raise
        _flush()
    except UserError as error:
        raise SystemExit(f"Error: {error}") from None
    except KeyboardInterrupt as stop:
        signum = signal.Signals(stop.args[0] if stop.args else signal.SIGINT)
        print(f"\nStopped by {signum.name}", file=sys.stderr)
        raise SystemExit(128 + signum) from None
    except BrokenPipeError:  # the reader, such as `head`, has exited
        _unwritable_stream()
        raise SystemExit(1) from None
    except (OSError, ValueError) as error:  # Python's logging configuration raises a ValueError from an OSError
        cause = error if isinstance(error, OSError) else error.__cause__
        message = explain(cause, _unwritable_stream() or folder) if isinstance(cause, OSError) else None
        if message is None:
            raise
        raise SystemExit(f"Error: {message}") from None


def explain(error: OSError, folder: str) -> str | None:
    """Return a message with the error, the path and the remedy; None if the error may be a bug in the program.

    Args:
        folder: the folder to which the program writes, or the name of a standard stream.
    """
    path = error.filename2 or error.filename or folder
    if error.errno == errno.ENOENT and not _has_working_folder():
        return "the working folder was deleted; change to another one and run again"
    if error.errno == errno.ENOENT and str(error.strerror).startswith("No usable temporary directory"):
        return "there is no writable folder for temporary files; set TMPDIR to a writable folder"
    if error.errno == errno.ENOENT and str(error.filename).startswith(folder) and not os.path.isdir(folder):
        return f"{folder} was removed while it was in use; run again"
    template = CAUSES.get(error.errno or 0)
    return template and template.format(path=path, reason=error.strerror)


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _has_working_folder() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _unwritable_stream() -> str | None:
    """Return the name of a standard stream that cannot be written to, and discard further output to it.

    Returns:
        "standard output" or "standard error"; None if both can be written to.
    """
    if getattr(sys.stdout, "write_through", False):  # PYTHONUNBUFFERED: only a write detects errors
        try:
            sys.stdout.write("\n")
        except OSError:
            drop_if_broken(sys.stdout)
            return "standard output"
    streams = {"standard output": sys.stdout, "standard error": sys.stderr}
    return next((name for name, stream in streams.items() if stream and drop_if_broken(stream)), None)
