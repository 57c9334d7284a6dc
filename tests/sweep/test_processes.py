"""Functions in separate processes."""

import multiprocessing
from typing import Any

import pytest

from src.sweep import processes


class EndedProcess:
    """A process that ended and was reaped during the last poll."""

    pid = 2**22 + 1  # above the largest process id
    codes = (None, 3, 3)

    def __init__(self, **options: Any) -> None:
        self._codes = iter(self.codes)

    @property
    def exitcode(self) -> int | None:
        return next(self._codes)

    def start(self) -> None:
        pass

    def join(self, timeout: float = 0.0) -> None:
        pass


def test_interrupting_a_process_that_has_ended_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Context:
        Process = EndedProcess

    monkeypatch.setattr(multiprocessing, "get_context", lambda method: Context)
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    assert processes.run(print, (), lambda: True) == 3
