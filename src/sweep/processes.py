"""Running something in a process of its own, so that nothing which happens there happens here.

Where that is sound the process is forked: it starts with everything imported, in milliseconds. It is not sound once
this process has computed anything with torch (OpenMP's threads do not survive a fork), has opened a GPU, or runs Ray's
threads; then a new interpreter is started. So what forks only imports, and never computes.
"""

import ctypes
import importlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from src.errors import UserError

Item = TypeVar("Item")
Found = TypeVar("Found")

IMPORTED = (  # what every training imports sooner or later
    "src.build",
    "src.run",
    "src.checkpoint",
    "src.callbacks.predictions",
    "src.sweep.child",
    "src.sweep.job_build",
    "datasets",
    "pytorch_lightning.callbacks",
    "pytorch_lightning.loggers",
    "wandb",
    "PIL.PngImagePlugin",
)
POLL = 0.2  # seconds between two looks at whether to stop

_fresh: bool | None = None


def note_start() -> None:
    """Say that from here on this process only imports, unless it already did more than that."""
    global _fresh
    _fresh = sys.platform == "linux" and not {"torch", "ray"} & set(sys.modules)


def forks() -> bool:
    """Whether processes may be forked off this one."""
    if _fresh is None:  # a worker that a launcher started
        note_start()
    if _fresh:
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # asking for GPUs must not open one
        for module in IMPORTED:
            with suppress(ImportError):  # whoever needs it will say so
                importlib.import_module(module)
    return bool(_fresh)


def run(target: Callable[..., None], args: tuple[Any, ...], should_stop: Callable[[], bool]) -> int:
    """Run `target(*args)` in a process of its own, and wait for it.

    When `should_stop` or a signal says so, the process is sent one SIGINT, and given the time that it needs.

    Returns:
        The exit code; minus the number of the signal that killed it.
    """
    context: Any = multiprocessing.get_context("fork" if forks() else "spawn")
    process = context.Process(target=target, args=args)
    asked = False
    with _signals() as came:
        process.start()
        try:
            while process.exitcode is None:
                process.join(POLL)
                if not asked and (came or should_stop()):
                    asked = True
                    os.kill(process.pid, signal.SIGINT)
        except BaseException:  # raised by another's signal handler, as Submitit's when Slurm takes the machine away
            os.kill(process.pid, signal.SIGINT)
            process.join()
            raise
    return int(process.exitcode)


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Gather the signals that would end this process, where nobody else handles them."""
    came: list[int] = []
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    here = threading.current_thread() is threading.main_thread()
    ours = [one for one in (signal.SIGINT, signal.SIGTERM) if here and signal.getsignal(one) in defaults]
    before = {one: signal.signal(one, lambda signum, frame: came.append(signum)) for one in ours}
    try:
        yield came
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def spread(
    function: Callable[[Sequence[Item]], list[Found]], items: Sequence[Item], processes: int | None = None
) -> list[Found]:
    """`function(items)`, worked out in forked processes; here where forking is unsound.

    Args:
        function: of several items.
        items: at least one.
        processes: how many share them; None takes as many as there are cores.

    Raises:
        UserError: if one of the processes died.
    """
    if not forks():
        return function(items)
    share = -(-len(items) // (processes or len(os.sched_getaffinity(0))))
    context: Any = multiprocessing.get_context("fork")
    workers = []
    for start in range(0, len(items), share):
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=_send, args=(sending, function, items[start : start + share]))
        process.start()
        sending.close()
        workers.append((receiving, process))
    found: list[Found] = []
    for receiving, process in workers:
        try:
            answer = receiving.recv()
        except EOFError:
            process.join()
            raise UserError(
                f"a process that looked over jobs ended with exit code {process.exitcode}; minus 9 is what the kernel "
                "leaves when memory runs out: make room and run again"
            ) from None
        process.join()
        if isinstance(answer, BaseException):
            raise answer
        found += answer
    return found


def die_with_parent() -> None:
    """Let the kernel kill this process, a child of multiprocessing or joblib, when its parent ends.

    Whatever ends a sweep, even SIGKILL, then leaves no process behind, and `sweep.resume` finds no job still running.
    On Linux alone; elsewhere a child whose parent was killed runs to its end.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        parent = multiprocessing.parent_process()
        if parent is not None and parent.pid != os.getppid():  # it ended before the kernel was asked
            os._exit(1)


def _send(to: Connection, function: Callable[[Any], Any], items: Any) -> None:
    die_with_parent()
    try:
        to.send(function(items))
    except BaseException as error:
        to.send(error)
        raise
