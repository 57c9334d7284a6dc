"""`python -m benchmarks.time_to_accuracy`: fastText and Heed."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from benchmarks import time_to_accuracy


def row(name: str, seed: int, seconds: float, accuracy: float) -> dict[str, Any]:
    return {"name": name, "seed": seed, "seconds": seconds, "accuracy": accuracy}


ROWS = [
    *(row("slow", seed, 9.0 + seed, 0.92) for seed in (1, 2, 3)),
    *(row("fast", seed, 3.0, 0.90 + 0.01 * seed) for seed in (1, 2, 3)),
    row("poor", 1, 1.0, 0.8),
]


def test_fasttext_is_omitted_if_it_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    options = time_to_accuracy.parse_arguments([])
    assert not list(time_to_accuracy.fasttext_rows(None, tmp_path, options))  # type: ignore[arg-type]
    assert "pip install fasttext-wheel" in capsys.readouterr().err
