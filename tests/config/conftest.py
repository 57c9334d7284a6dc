from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from src.cli.overrides import command_line_mistakes
from src.config.composition import Repository

FAKE = Path(__file__).parent / "conf"

Look = Callable[..., dict[str, str]]


@cache
def repository(command: str = "train") -> Repository:
    """The configs of tests/config/conf; what was composed once is kept for the next test."""
    return Repository(FAKE, command)


@pytest.fixture
def look() -> Look:
    """The mistakes of a command line against tests/config/conf, what was written → what is wrong with it."""

    def look(*lines: str, sweeps: bool = False, deep: bool = True, command: str = "train") -> dict[str, str]:
        mistakes = command_line_mistakes(repository(command), list(lines), sweeps=sweeps, deep=deep)
        assert len(dict(mistakes)) == len(set(mistakes)), "one mistake was called two different things"
        return dict(mistakes)

    return look
