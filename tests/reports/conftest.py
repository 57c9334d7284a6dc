"""A run folder for each test that asks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.reports.runs import write_run


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Called with any options of `write_run`, gives the folder of a run made up accordingly."""

    def make(**options: Any) -> Path:
        return write_run(tmp_path / "run", **options)

    return make
