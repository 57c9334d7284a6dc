"""How a command ends where the user can mend the matter: with one message and exit code 1."""

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from src.cli.startup import drop_if_broken
from src.errors import UserError

FULL = "the disk is full, so {path} could not be written; make room and run again"
DENIED = "{path}: permission denied; change its permissions, or choose another path"
NO_FOLDER = "{path}: a file is in the place of a folder; remove it, or choose another path"
TOO_MANY = "{path} could not be opened: too many files are open; raise the limit (ulimit -n) and run again"
DEVICE = "{path}: the device fails ({reason}); check it and run again"

CAUSES = {  # by the error numbers that only the environment causes
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EFBIG: "{path}: the file is larger than allowed; raise the limit (ulimit -f), or choose another folder",
    errno.EROFS: "{path} is on a read-only file system; choose another path",
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.ENOTDIR: NO_FOLDER,
    errno.EEXIST: NO_FOLDER,
    errno.EISDIR: "{path}: a folder is in the place of a file; remove it, or choose another path",
    errno.ENAMETOOLONG: "{path}: the name is too long; choose a shorter one",
    errno.ELOOP: "{path}: its symbolic links form a loop; mend them, or choose another path",
    errno.EMFILE: TOO_MANY,
    errno.ENFILE: TOO_MANY,
    errno.ENOMEM: "the memory is full; close other programs, or choose a smaller model or batch size",
    errno.EIO: DEVICE,
    errno.ESTALE: DEVICE,
    errno.ENXIO: DEVICE,
    errno.ENODEV: DEVICE,
}


@contextmanager
def exit_with_message(folder: str) -> Iterator[None]:
    """End the program with one message where the user can mend the matter: a mistake, or an error of the environment.

    What was printed is flushed within, so that a full disk or a closed pipe behind standard output shows here.

    Args:
        folder: what is written to where an error names no path.
    """
    try:
        with _flushed():
            yield
    except UserError as error:
        raise SystemExit(f"Error: {error}") from None
    except KeyboardInterrupt:
        print("\nStopped by SIGINT", file=sys.stderr)
        raise SystemExit(128 + signal.SIGINT) from None
    except BrokenPipeError:  # whoever reads, such as `head`, has read enough
        _unwritable_stream()
        raise SystemExit(1) from None
    except (OSError, ValueError) as error:  # logging raises a ValueError from the OSError of its file
        cause = error if isinstance(error, OSError) else error.__cause__
        message = explain(cause, _unwritable_stream() or folder) if isinstance(cause, OSError) else None
        if message is None:
            raise
        raise SystemExit(f"Error: {message}") from None


@contextmanager
def _flushed() -> Iterator[None]:
    """Print what is buffered, unless an error ends the block."""
    end = None
    try:
        yield
    except SystemExit as early:  # as argparse after --help
        if early.code:
            raise
        end = early
    if sys.stdout is not None:
        sys.stdout.flush()
    if end is not None:
        raise end


def explain(error: OSError, folder: str) -> str | None:
    """What is wrong with which path, and what to do; None where the error may be one of the program's own."""
    path = error.filename2 or error.filename or folder
    if error.errno == errno.ENOENT and not _has_working_folder():
        return "the working folder was deleted; change to another one and run again"
    if error.errno == errno.ENOENT and str(error.strerror).startswith("No usable temporary directory"):
        return "no folder for temporary files can be written; set TMPDIR to one that can"
    if error.errno == errno.ENOENT and str(error.filename).startswith(folder) and not os.path.isdir(folder):
        return f"{folder} was removed while it was in use; run again"
    template = CAUSES.get(error.errno or 0)
    return template and template.format(path=path, reason=error.strerror)


def _has_working_folder() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _unwritable_stream() -> str | None:
    """The standard stream that cannot be written, if one cannot; what is printed to it from here on is dropped."""
    streams = {"standard output": sys.stdout, "standard error": sys.stderr}
    return next((name for name, stream in streams.items() if stream and drop_if_broken(stream)), None)
