"""`python -m benchmarks.time_to_accuracy`: fastText, Heed, and the fastest method that reaches the target."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from benchmarks import time_to_accuracy
from benchmarks.time_to_accuracy import first_to_reach, group_by_name


def row(name: str, seed: int, seconds: float, accuracy: float) -> dict[str, Any]:
    return {"name": name, "seed": seed, "seconds": seconds, "accuracy": accuracy}


ROWS = [
    *(row("slow", seed, 9.0 + seed, 0.92) for seed in (1, 2, 3)),
    *(row("fast", seed, 3.0, 0.90 + 0.01 * seed) for seed in (1, 2, 3)),
    row("poor", 1, 1.0, 0.8),
]


def test_the_first_method_reaches_the_target_in_the_fewest_seconds() -> None:
    groups = group_by_name(ROWS)
    assert groups["slow"]["seconds"] == (11.0, 10.0, 12.0)
    assert groups["fast"]["accuracy"].median == pytest.approx(0.92)
    assert first_to_reach(groups, 0.915) == "fast"
    assert first_to_reach(groups, 0.7) == "poor"
    assert first_to_reach(groups, 0.99) is None


def test_fasttext_is_omitted_if_it_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    options = time_to_accuracy.parse_arguments([])
    assert not list(time_to_accuracy.fasttext_rows(None, tmp_path, options))  # type: ignore[arg-type]
    assert "pip install fasttext-wheel" in capsys.readouterr().err
