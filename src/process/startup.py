"""Prepare signals and standard streams before the imports of a command, which take seconds."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

closed_streams: set[str] = set()  # standard streams that the shell closed, as `>&-` does
_pid = 0


def prepare() -> None:
    """Let a signal end the program with one line of output; connect standard streams that are closed to os.devnull."""
    global _pid
    _pid = os.getpid()
    _open_standard_streams()
    os.environ["MPLBACKEND"] = "agg"  # figures are written to files only
    for signum in stopping_signals():
        signal.signal(signum, _end)


def ignores_hangup() -> bool:
    """Whether the process ignores the hang-up of its terminal, as under `nohup`."""
    return signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def stopping_signals() -> tuple[signal.Signals, ...]:
    """The signals that stop a command, without SIGHUP if it is ignored."""
    return SIGNALS[:-1] if ignores_hangup() else SIGNALS


@contextmanager
def stopped_by_exception() -> Iterator[Callable[[], None]]:
    """Let a signal raise a KeyboardInterrupt with its number in the block, so that temporary files are removed.

    Further signals are ignored until the end of the block.

    Yields:
        A function that raises the exception again if a signal was received: Python ignores an exception that a signal
        raises within a `__del__` method.
    """
    received: list[int] = []

    def handle(signum: int, frame: FrameType | None) -> None:
        for each in previous:
            signal.signal(each, signal.SIG_IGN)
        received.append(signum)
        check()

    def check() -> None:
        if received:
            raise KeyboardInterrupt(received[0])

    previous = {signum: signal.signal(signum, handle) for signum in stopping_signals()}
    try:
        yield check
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)


def announce(line: str) -> None:
    """Print a line; a closed terminal or pipe is not an error. A signal handler may call it."""
    try:
        print(line, flush=True)
    except RuntimeError:  # the signal interrupted another print
        pass
    except OSError:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.write("\n")
            drop_if_broken(stream)


def drop_if_broken(stream: TextIO) -> bool:
    """Whether a standard stream cannot be written; its further output is then discarded."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return True
    return False


def _end(signum: int, frame: FrameType | None) -> None:
    """Exit at once: an import in progress could catch an exception, or fail because of it."""
    if os.getpid() == _pid:  # only the original process prints; a forked child does not
        try:
            sys.stdout.flush()
            os.write(2, f"\nStopped by {signal.Signals(signum).name}\n".encode())
        except Exception:  # the terminal is gone, or the flush was interrupted
            pass
    os._exit(128 + signum)


def _open_standard_streams() -> None:
    """Open closed standard streams; otherwise the next opened file would receive their output."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # uses the lowest free number, that of the closed stream
            closed_streams.add(name)
        if getattr(sys, name) is None:
            stream = open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # characters that the locale lacks, as on standard error
