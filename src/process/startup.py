"""Set up signals, standard streams and garbage collection before a command imports packages, which takes seconds."""

import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# With Python's default thresholds, garbage collection takes a tenth of the CPU time of a short run, because each full
# collection visits the half million objects of the imported modules.
GC_THRESHOLDS = (50_000, 10, 10)

closed_streams: set[str] = set()  # names of the standard streams that the shell closed, as with `>&-`
_pid = 0


def set_up_process() -> None:
    """Make signals end the program with one line of output, and connect closed standard streams to os.devnull.

    Garbage collection becomes less frequent, and matplotlib draws only to files.
    """
    global _pid
    _pid = os.getpid()
    gc.set_threshold(*GC_THRESHOLDS)
    _open_standard_streams()
    os.environ["MPLBACKEND"] = "agg"
    for signum in stopping_signals():
        signal.signal(signum, _exit_on_signal)


def ignores_hangup() -> bool:
    """Return whether the process ignores SIGHUP, the signal of a closed terminal, as under `nohup`."""
    return signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def stopping_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that stop a command; SIGHUP is omitted if the process ignores it."""
    return STOP_SIGNALS[:-1] if ignores_hangup() else STOP_SIGNALS


@contextmanager
def stopped_by_exception() -> Iterator[Callable[[], None]]:
    """Make a signal in the block raise KeyboardInterrupt(signal number), so that temporary files are removed.

    After the first signal, further signals are ignored until the end of the block.

    Yields:
        A function that raises the KeyboardInterrupt again if a signal was received. It is needed because Python ignores
        an exception that a signal handler raises while a `__del__` method runs.
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
    """Print a line, unless standard output is closed or broken.

    Signal handlers may call this function; the line is omitted if the signal interrupted another print.
    """
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
    """Return whether a standard stream cannot be written to; if so, discard further output to it."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return True
    return False


def _exit_on_signal(signum: int, frame: FrameType | None) -> None:
    """Exit immediately, without an exception, because an import in progress might catch it."""
    if os.getpid() == _pid:  # a forked child inherits this handler, but prints nothing
        try:
            sys.stdout.flush()
            os.write(2, f"\nStopped by {signal.Signals(signum).name}\n".encode())
        except Exception:  # the terminal is gone, or the flush was interrupted
            pass
    os._exit(128 + signum)


def _open_standard_streams() -> None:
    """Connect closed standard streams to os.devnull, so that no file opened later receives their output."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is the closed stream's
            closed_streams.add(name)
        if getattr(sys, name) is None:
            stream = open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # escapes what the locale cannot encode, as on stderr
