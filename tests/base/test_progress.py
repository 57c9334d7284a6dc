"""The progress of a pass over rows, on a terminal and in a file."""

import io
import sys
import time

import pytest

from heedful.base.progress import INTERVAL, row_progress


def replace_stderr(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_a_terminal_shows_a_bar_that_is_erased_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = replace_stderr(monkeypatch, is_terminal=True)
    with row_progress("Classified", 11) as advance:
        advance(3)
        advance(4)
    output = stream.getvalue()
    assert "Classified rows" in output and " 7/11" in output
    assert output.rstrip().endswith("\x1b[2K")


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_file_gets_a_line_now_and_then(is_shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = replace_stderr(monkeypatch, is_terminal=False)
    now = iter([0.0, 0.6 * INTERVAL, 1.1 * INTERVAL, 1.9 * INTERVAL, 2.2 * INTERVAL])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    with row_progress("Read", 1234, "texts", is_shown) as advance:
        for count in (5, 1000, 7, 11):
            advance(count)
    assert stream.getvalue() == ("Read 1,005 of 1,234 texts\nRead 1,023 of 1,234 texts\n" if is_shown else "")
