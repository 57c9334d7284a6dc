"""`python -m benchmarks.resident`: resident memory by setting, and the settings of the probe."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import memory, probe, resident
from src.data import padded_batches


def test_the_memory_of_a_training_is_recorded_for_each_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[list[str], dict[str, str]]] = []

    def training(overrides: list[str], folder: Path, environment: dict[str, str]) -> dict[str, Any]:
        calls.append((overrides, environment))
        return {
            "resident": [[10, 317.0], [20, 331.0], [30, 329.0], [40, 337.0]],
            "epochs": [2.0, 4.0],
            "texts": 28,
            "peak": 341.0,
        }

    monkeypatch.setattr(resident, "training", training)
    monkeypatch.setattr(memory, "above_imports", lambda record: record["peak"] - 300)
    out = tmp_path / "out"
    resident.main(tmp_path, ["--quick", "--settings=more-lengths,12MB", f"--out={out}"])
    (lengths, unchanged), (_, environment) = calls
    assert "trainer.max_epochs=2" in lengths and "data.limit=100" in lengths
    assert "+callbacks.probe.significant_bits=5" in lengths
    assert unchanged == {}
    assert environment == {"MALLOC_TRIM_THRESHOLD_": "2000000000", "MALLOC_MMAP_THRESHOLD_": "12582912"}
    record = json.loads((out / "memory.json").read_text())
    assert [row["setting"] for row in record["settings"]] == ["more-lengths", "12MB"]
    row = record["settings"][0]
    assert row["resident"] == [[10, 17.0], [20, 31.0], [30, 29.0], [40, 37.0]]
    assert row["peak"] == 41.0
    assert row["reviews_per_second"] == [14.0, 7.0]
    assert resident.highest_by_epoch(row) == [31.0, 37.0]
    assert (out / "memory.png").stat().st_size > 0


@pytest.mark.parametrize("argument", ["--epochs=0", "--reviews=0", "--settings=unknown"])
def test_invalid_options_are_reported(tmp_path: Path, argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        resident.main(tmp_path, [argument])
    assert argument.partition("=")[0] in capsys.readouterr().err


def test_the_probe_sets_the_padded_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(padded_batches, "SIGNIFICANT_BITS", padded_batches.SIGNIFICANT_BITS)
    truncation = padded_batches.Truncation(500, "first")
    assert truncation.padded_length(257) == 288
    probe.Probe("probe.json", significant_bits=5)
    assert truncation.padded_length(257) == 272
