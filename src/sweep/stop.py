"""Stopping a sweep: a file in its folder, which every process of it sees, whichever machine that runs on."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from src.cli.startup import announce, stopping_signals

FILE = "stop"


def asked(sweep: Path) -> bool:
    """Whether the sweep is to stop."""
    return (sweep / FILE).exists()


@contextmanager
def on_signals(sweep: Path) -> Iterator[list[int]]:
    """Stop the sweep in order at Ctrl-C, SIGTERM and SIGHUP, and at once when one comes again.

    The file stays: jobs that wait in a queue must not begin. Going on with the sweep removes it.

    Yields:
        The signals that have come.
    """
    came: list[int] = []

    def handle(signum: int, frame: FrameType | None) -> None:
        came.append(signum)
        if len(came) > 1:
            raise KeyboardInterrupt
        (sweep / FILE).touch()
        name = signal.Signals(signum).name
        announce(f"\n{name}: what runs is saved and stopped, the rest stays pending; again to stop at once")

    (sweep / FILE).unlink(missing_ok=True)
    before = {one: signal.signal(one, handle) for one in stopping_signals()}
    try:
        yield came
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
