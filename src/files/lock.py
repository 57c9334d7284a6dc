"""Lock a folder, so that only one process at a time writes to it."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_TIMEOUT = 1.0  # seconds; a process that only reads the status of a run holds the lock for a shorter time


@contextmanager
def lock_folder(folder: Path, timeout: float = 0.0) -> Iterator[bool]:
    """Lock the folder of a run during the block, and yield whether the lock was acquired.

    If this process dies, a child that it forked within the block still holds the lock until the child ends.

    Args:
        timeout: seconds to wait while another process holds the lock.
    """
    path = folder / ".hydra" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    yield False
                    return
                time.sleep(0.05)
            else:
                yield True
                return
