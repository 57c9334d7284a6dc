"""`python -m benchmarks.sweep`: the memory of a small sweep, and the printed table."""

import json
from pathlib import Path

import pytest

from benchmarks import sweep
from src.errors import UserError


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_is_measured_after_each_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep, "AFTER", 1)
    out = tmp_path / "out"
    sweep.main(tmp_path, ["--only=memory", "--jobs=2", f"--out={out}"])
    record = json.loads((out / "sweep.json").read_text())["sweep"]["memory"]
    first, last = record["after each job, MB"]
    assert first > 50
    assert record["growth after the tenth"] == pytest.approx(last / first - 1)
    assert "growth after 1 jobs" in capsys.readouterr().out


def test_a_failed_run_is_reported() -> None:
    with pytest.raises(UserError, match="no such"):
        sweep.seconds(sweep.train(["model/encoder=nowhere"]))
