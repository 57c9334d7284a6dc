"""The progress of a pass over rows on a terminal."""

import io
import sys

import pytest

from heedful.report.terminal import row_progress


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_shows_a_bar_that_is_erased_at_the_end(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with row_progress("Classified", 11) as advance:
        advance(3)
        advance(4)
    output = stream.getvalue()
    assert ("Classified rows" in output and " 7/11" in output) == is_terminal
    assert output.rstrip().endswith("\x1b[2K") == is_terminal
