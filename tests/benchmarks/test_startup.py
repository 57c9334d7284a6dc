"""`python -m benchmarks.startup`: the probe in a training, and what is reported."""

import json
from pathlib import Path

import pytest

from benchmarks import command, startup
from src.errors import UserError
from tests.helpers import train


def test_the_probe_records_the_cpu_seconds_before_the_first_step(tmp_path: Path) -> None:
    probe = ("+callbacks.probe._target_=benchmarks.startup.Probe", f"+callbacks.probe.path='{tmp_path / 'seconds'}'")
    train(tmp_path / "run", *probe, "extras.trusted_modules=[benchmarks]", "test=false")
    assert float((tmp_path / "seconds").read_text()) > 0


def test_starts_on_cached_reviews_and_a_whole_epoch_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def run(overrides: list[str], folder: Path) -> tuple[float, float]:
        calls.append(overrides)
        return float(len(calls)), 700.0

    monkeypatch.setattr(startup, "train", run)
    startup.main(tmp_path, ["--repeats=3", f"--out={tmp_path}"])
    record = json.loads((tmp_path / "startup.json").read_text())
    assert record["cpu_seconds"] == [2.0, 3.0, 4.0]  # the first run also tokenizes
    assert record["peak_mb"] == 700.0
    assert ["+trainer.limit_train_batches=1" in overrides for overrides in calls] == [True] * 4 + [False]


def test_a_failed_training_reports_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such option >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    with pytest.raises(UserError, match="no such option"):
        command.train()
