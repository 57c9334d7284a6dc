"""`python -m benchmarks.encoder_speed`: the record of a smoke test."""

import json
from pathlib import Path

import pytest

from benchmarks import encoder_speed


def test_each_encoder_is_timed_at_each_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_speed, "LENGTHS", (3, 7))
    encoder_speed.main(tmp_path, ["--quick", "--out", str(tmp_path)])
    speeds = json.loads((tmp_path / "encoder_speed.json").read_text())["texts_per_second"]
    assert {length: {cell: len(each) for cell, each in cells.items()} for length, cells in speeds.items()} == {
        "3": {"lstm": 1, "gru": 1, "mingru": 1},
        "7": {"lstm": 1, "gru": 1, "mingru": 1},
    }
    assert all(speed > 0 for cells in speeds.values() for each in cells.values() for speed in each)
