"""Fixtures with run folders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.reports.runs import write_run


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a run folder with the options of `write_run` and returns its path."""

    def make(**options: Any) -> Path:
        return write_run(tmp_path / "run", **options)

    return make
