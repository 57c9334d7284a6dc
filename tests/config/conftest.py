from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from src.cli.overrides import command_line_mistakes
from src.config.composition import Repository

TEST_CONF = Path(__file__).parent / "conf"

FindMistakes = Callable[..., dict[str, str]]


@cache
def repository(command: str = "train") -> Repository:
    """The configs of tests/config/conf, cached with their compositions for all tests."""
    return Repository(TEST_CONF, command)


@pytest.fixture
def find_mistakes() -> FindMistakes:
    """A function that validates a command line with the configs of tests/config/conf and returns entry → message."""

    def find_mistakes(*lines: str, sweeps: bool = False, deep: bool = True, command: str = "train") -> dict[str, str]:
        mistakes = command_line_mistakes(repository(command), list(lines), sweeps=sweeps, deep=deep)
        assert len(dict(mistakes)) == len(set(mistakes)), "an entry has two messages"
        return dict(mistakes)

    return find_mistakes
