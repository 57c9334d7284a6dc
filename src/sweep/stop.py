"""Stop a sweep by means of a file in its folder, which the sweep's processes on all machines can read."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from src.process import announce, stopping_signals

FILE = "stop"


def stop_requested(sweep: Path) -> bool:
    """Return whether the sweep in a folder has been asked to stop."""
    return (sweep / FILE).exists()


@contextmanager
def on_signals(sweep: Path) -> Iterator[list[int]]:
    """Within the block, stop the sweep gracefully on Ctrl-C, SIGTERM or SIGHUP, and immediately on a second signal.

    The file that requests the stop remains, so that queued jobs do not start. Resuming the sweep removes the file.

    Yields:
        A list that collects the received signals.
    """
    received: list[int] = []

    def handle(signum: int, frame: FrameType | None) -> None:
        received.append(signum)
        if len(received) > 1:
            raise KeyboardInterrupt
        (sweep / FILE).touch()
        name = signal.Signals(signum).name
        announce(
            f"\n{name}: saving and stopping the running jobs; the other jobs stay pending. "
            "A second signal stops all jobs immediately"
        )

    (sweep / FILE).unlink(missing_ok=True)
    previous = {signum: signal.signal(signum, handle) for signum in stopping_signals()}
    try:
        yield received
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
