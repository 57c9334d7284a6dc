"""The process of a command: signals, exit codes and messages."""

import atexit
import gc
import io
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from heedful.base.errors import UserError

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Causes outside the program of an error that torch raises, and the messages about them
CAUSES = {
    r"out of memory|allocate memory|MemoryError": "the memory of this machine or GPU is not sufficient: choose a "
    "smaller batch_size, max_length or model",
    r"(?is)(gloo|nccl).*(peer|remote|timed? ?out)": "another process of this run has ended or does not answer, perhaps "
    "because it was killed: run the command again; a run that has saved a checkpoint resumes with ckpt_path=…",
}
# Python's own first number, 700 new objects between two collections, cost a sixteenth of the time of a short training
GC_THRESHOLDS = (30_000, 10, 10)
PROGRAM = "HEEDFUL_PROGRAM"  # environment variable, for child processes, too: what the user types before a command
POLL = 0.2  # seconds between checks whether the parent of a process lives, and whether a sweep should stop


def set_up_process() -> None:
    """Make Ctrl-C end the program at once, also during imports, and let matplotlib draw only to files.

    Characters that the encoding of standard output lacks are replaced.

    Threads of OpenMP that wait for each other sleep soon, unless the user has set how long they spin: beside other busy
    processes, a spinning thread takes the core that the other thread needs (docs/performance.md). This must precede the
    import of torch.
    """
    gc.set_threshold(*GC_THRESHOLDS)
    atexit.register(gc.freeze)  # nothing needs to be examined for garbage when the program ends
    os.environ["MPLBACKEND"] = "agg"
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an import might catch Python's exception
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


@contextmanager
def importing() -> Iterator[None]:
    """Collect no garbage in the block, and never examine what exists after it.

    Imported objects stay until the program ends; to examine them took a quarter of the time of `import torch`.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def is_further_process() -> bool:
    """Return whether Lightning or torchrun started this process beside the main process of a run on this machine."""
    return os.environ.get("LOCAL_RANK", "0") != "0"


def typed(command: str) -> str:
    """Return what the user types to run a command, such as `heedful train` or `python -m src.train`."""
    return os.environ.get(PROGRAM, "heedful ") + command


class Interrupted(BaseException):  # like KeyboardInterrupt, so that `except Exception` does not catch it
    """A signal stopped the run; a command exits with 128 + `signum`."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum


def stopping_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that stop a run; SIGHUP, of a closed terminal, is omitted if `nohup` ignores it.

    There are none outside the main thread, the only one that Python lets handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return ()
    return STOP_SIGNALS[:-1] if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else STOP_SIGNALS


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Call `handler` for signals that stop a run in the block; then restore their handlers."""
    previous = {signum: signal.signal(signum, handler) for signum in stopping_signals()}
    try:
        yield
    finally:
        for signum, earlier in previous.items():
            signal.signal(signum, earlier)


def end_with_parent(is_alive: Callable[[], bool] = lambda: True) -> None:
    """Kill this process soon after the process that started it ends, or `is_alive` returns False."""
    ppid = os.getppid()

    def watch() -> None:
        try:
            while os.getppid() == ppid and is_alive():
                time.sleep(POLL)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def raise_interrupt(signum: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt(signal number): a signal handler with which temporary files are removed."""
    raise KeyboardInterrupt(signum)


@contextmanager
def exit_with_message(path: str) -> Iterator[None]:
    """End the program with one message after a `UserError`, an error of the system or a signal in the block.

    Args:
        path: the path that the message names if the error has no path.

    Raises:
        SystemExit: after such an error or signal; the exit code is 128 plus the signal's number after a signal, and
            otherwise 1. There is no message after `Interrupted`.
    """
    try:
        try:
            yield
        finally:  # a full disk or a closed pipe is detected here, also after argparse's --help
            if sys.stdout:
                sys.stdout.flush()
    except UserError as error:
        raise SystemExit(f"Error: {error}") from None
    except Interrupted as stop:
        raise SystemExit(128 + stop.signum) from None
    except KeyboardInterrupt as stop:
        signum = signal.Signals(stop.args[0] if stop.args else signal.SIGINT)
        print(f"\nStopped by {signum.name}", file=sys.stderr)
        raise SystemExit(128 + signum) from None
    except ModuleNotFoundError as error:
        if error.name is None:  # a library says that an option needs a further package, and which; no import failed
            raise SystemExit(f"Error: {error}") from None
        raise
    except (RuntimeError, MemoryError) as error:
        text = f"{type(error).__name__}: {error}"
        if cause := next((CAUSES[pattern] for pattern in CAUSES if re.search(pattern, text)), None):
            raise SystemExit(f"Error: {cause}") from None
        raise
    except OSError as error:
        if error.errno is None or isinstance(error, FileNotFoundError):  # perhaps a defect of the program
            raise
        place = error.filename2 or error.filename
        place = "standard output" if drop_broken_output("" if place else "\n") else place or path
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has exited
            raise SystemExit(1) from None
        raise SystemExit(f"Error: {place}: {error.strerror}; correct this, or choose another path") from None


def announce(line: str) -> None:
    """Print a line unless standard output is broken; signal handlers may call this function."""
    try:
        print(line, flush=True)
    except RuntimeError:  # the signal interrupted another print
        pass
    except OSError:
        drop_broken_output()


def write_log(line: str) -> None:
    """Write a line to the log file, if there is one, but not to the terminal, which shows tables instead."""
    record = logging.LogRecord("heedful", logging.INFO, __file__, 0, line, (), None)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            handler.handle(record)


def drop_broken_output(text: str = "") -> bool:
    """Return whether standard output cannot be written to; if so, discard further output to it.

    Args:
        text: is written to try it; without a buffer (PYTHONUNBUFFERED), nothing else is left to be written.
    """
    try:
        print(text, end="", flush=True)
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False
