"""The first moments of a command, before its imports, which take seconds: signals and standard streams."""

import io
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import TextIO

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

closed_streams: set[str] = set()  # standard streams that the shell had closed, as `>&-` does
_pid = 0


def prepare() -> None:
    """End the process with one line at a signal, and open closed standard streams on the null device."""
    global _pid
    _pid = os.getpid()
    _open_standard_streams()
    os.environ["MPLBACKEND"] = "agg"  # pictures are files, whatever a notebook or a desktop prefers
    for signum in stopping_signals():
        signal.signal(signum, _end)


def ignores_hangup() -> bool:
    """Whether the process is to outlive its terminal, as under `nohup`."""
    return signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def stopping_signals() -> tuple[signal.Signals, ...]:
    """The signals that stop a command: without the hang-up of its terminal where it is to outlive that."""
    return SIGNALS[:-1] if ignores_hangup() else SIGNALS


def announce(line: str) -> None:
    """Print a line from a signal handler; a terminal that is gone must not keep what runs from stopping in order."""
    try:
        print(line, flush=True)
    except RuntimeError:  # the signal came in the middle of another print
        pass
    except OSError:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.write("\n")
            drop_if_broken(stream)


def drop_if_broken(stream: TextIO) -> bool:
    """Whether a standard stream cannot be written; what is printed to it from here on is dropped."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return True
    return False


def _end(signum: int, frame: FrameType | None) -> None:
    """Leave at once: an exception would be caught by, or would break, whatever is being imported."""
    if os.getpid() == _pid:  # a forked process leaves the line to its parent
        try:
            sys.stdout.flush()
            os.write(2, f"\nStopped by {signal.Signals(signum).name}\n".encode())
        except Exception:  # the terminal is gone, or the flush was interrupted
            pass
    os._exit(128 + signum)


def _open_standard_streams() -> None:
    """Without this, the next file that is opened gets the number of the closed stream, and the output with it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            closed_streams.add(name)
        if getattr(sys, name) is None:
            stream = open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # where the locale has not every letter, as standard error
