"""The module that the server of tests/forks.py imports when it starts."""

from tests.forks import preload

preload()
