from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from heedful.config.compose import ConfigFiles
from heedful.launch.composition import find_mistakes as find

TEST_CONF = Path(__file__).parent / "conf"

FindMistakes = Callable[..., dict[str, str]]


@cache
def repository() -> ConfigFiles:
    """The configs of tests/config/conf, which are read once for all tests."""
    return ConfigFiles("train", folder=TEST_CONF)


@pytest.fixture
def find_mistakes() -> FindMistakes:
    """A function that validates a command line with the configs of tests/config/conf and returns entry → message."""

    def find_mistakes(*lines: str, sweeps: bool = False) -> dict[str, str]:
        files = repository()
        cfg, mistakes = files.check(lines, sweeps)
        mistakes = mistakes or find(files, cfg, lines, sweeps)
        assert len(dict(mistakes)) == len(set(mistakes)), "an entry has two messages"
        return dict(mistakes)

    return find_mistakes
