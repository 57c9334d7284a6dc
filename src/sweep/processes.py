"""Run functions in separate processes, so that their failures do not end this process.

A forked process starts in milliseconds, because all modules are already imported. Forking is unsafe once this process
has computed anything with torch (OpenMP's threads do not survive a fork), has opened a GPU, or runs Ray's threads. A
process that may fork must therefore only import modules, and not compute. A process that may not fork starts a new
interpreter instead.
"""

import ctypes
import importlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from src.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

IMPORTED = (  # modules that every training run needs
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
POLL = 0.2  # seconds between checks for a request to stop

_may_fork: bool | None = None
_worker_function: Callable[[Any], Any]


def record_fork_safety() -> None:
    """Record whether this process may fork: only on Linux, and only if neither torch nor Ray has been imported."""
    global _may_fork
    _may_fork = sys.platform == "linux" and not {"torch", "ray"} & set(sys.modules)


def can_fork() -> bool:
    """Return whether this process may fork; if so, import the modules that its children need."""
    if _may_fork is None:  # this is a worker process of a launcher
        record_fork_safety()
    if _may_fork:
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # count GPUs without opening one
        for module in IMPORTED:
            with suppress(ImportError):  # the error is reported when the module is needed
                importlib.import_module(module)
    return bool(_may_fork)


def run(target: Callable[..., None], args: tuple[Any, ...], should_stop: Callable[[], bool]) -> int:
    """Run `target(*args)` in a separate process, and wait for it.

    When `should_stop` returns True or this process receives SIGINT or SIGTERM, this function sends one SIGINT to the
    separate process, and waits until that process exits, however long it takes. If a signal handler raises an
    exception, the separate process also receives SIGINT, and the exception is raised again after that process exits.

    Returns:
        The exit code of the separate process, or the negative number of the signal that killed it.
    """
    context: Any = multiprocessing.get_context("fork" if can_fork() else "spawn")
    process = context.Process(target=target, args=args)
    interrupted = False
    with _collect_signals() as received:
        process.start()
        try:
            while process.exitcode is None:
                process.join(POLL)
                if not interrupted and (received or should_stop()):
                    interrupted = True
                    _interrupt(process.pid)
        except BaseException:  # raised by a signal handler such as Submitit's, when Slurm preempts the job
            _interrupt(process.pid)
            process.join()
            raise
    return int(process.exitcode)


def _interrupt(pid: int) -> None:
    """Send SIGINT to a process, which may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)


@contextmanager
def _collect_signals() -> Iterator[list[int]]:
    """Yield a list that collects SIGINT and SIGTERM during the block, except signals for which a handler is set.

    Outside the main thread, where Python cannot set handlers, the list stays empty.
    """
    received: list[int] = []
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    in_main_thread = threading.current_thread() is threading.main_thread()
    unhandled = [
        signum for signum in (signal.SIGINT, signal.SIGTERM) if in_main_thread and signal.getsignal(signum) in defaults
    ]
    previous = {signum: signal.signal(signum, lambda signum, frame: received.append(signum)) for signum in unhandled}
    try:
        yield received
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)


def map_in_processes(function: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item]) -> list[Result]:
    """Return the results of `function` for all items, computed in one forked process per core.

    If this process may not fork, it computes the results itself.

    Args:
        function: maps a part of the items to a list of results.
        items: at least one item.

    Raises:
        UserError: if one of the processes was killed.
    """
    if not can_fork():
        return function(items)
    size = -(-len(items) // len(os.sched_getaffinity(0)))
    chunks = [items[start : start + size] for start in range(0, len(items), size)]
    fork: Any = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(len(chunks), fork, _set_up_worker, (function,)) as pool:
        try:
            return [result for results in pool.map(_call_worker_function, chunks) for result in results]
        except BrokenProcessPool:
            raise UserError(
                "a process that validated jobs was killed, usually because memory ran out: free memory and run again"
            ) from None


def _set_up_worker(function: Callable[[Any], Any]) -> None:
    """Store the function in a forked worker, because a closure cannot be pickled and sent with the items."""
    global _worker_function
    die_with_parent()
    _worker_function = function


def _call_worker_function(items: Any) -> Any:
    return _worker_function(items)


def die_with_parent() -> None:
    """Make the kernel kill this process, a child of multiprocessing or joblib, when its parent ends.

    A sweep then leaves no process behind, even after SIGKILL, and no job is still running when the sweep is resumed.
    This works on Linux only; on other systems, a child whose parent was killed runs to its end.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        parent = multiprocessing.parent_process()
        if parent is not None and parent.pid != os.getppid():  # the parent ended before the request
            os._exit(1)
