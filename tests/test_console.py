"""The progress of a pass over rows, with and without a terminal."""

import io
import sys

import pytest

from src import console
from src.console import describe_progress, row_progress


def test_a_line_contains_speed_and_remaining_time() -> None:
    line = "Classified 12,000 of 200,000 rows, 2,400 rows/s, 1 min 18 s left"
    assert describe_progress("Classified", 12_000, 200_000, 5.0) == line
    assert describe_progress("Classified", 7, 7, 2.0) == "Classified 7 of 7 rows, 3.5 rows/s"
    assert describe_progress("Read", 3000, None, 0.5) == "Read 3,000 rows, 6,000 rows/s"
    assert describe_progress("Read", 3, None, 0.0) == "Read 3 rows"


def test_without_a_terminal_lines_are_30_seconds_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console.time, "monotonic", iter([0.0, 10.0, 31.0, 40.0, 62.0]).__next__)
    with row_progress("Classified", 11) as advance:
        for count in (2, 3, 5, 1):
            advance(count)
    output = capsys.readouterr()
    assert output.err.splitlines() == [
        "Classified 5 of 11 rows, 0.2 rows/s, 37 s left",
        "Classified 11 of 11 rows, 0.2 rows/s",
    ]
    assert not output.out


def test_the_bar_on_a_terminal_is_erased_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with row_progress("Classified", 11) as advance:
        advance(7)
    output = stream.getvalue()
    assert "Classified 7 of 11 rows" in output
    assert output.rstrip().endswith("\x1b[2K")
