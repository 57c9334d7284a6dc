"""`python -m benchmarks.sweep`: the memory of a tiny sweep, and what is shown."""

import json
from pathlib import Path

import pytest

from benchmarks import sweep
from src.errors import UserError


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read in /proc")
def test_memory_is_watched_job_by_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep, "AFTER", 1)
    out = tmp_path / "out"
    sweep.main(tmp_path, ["--only=memory", "--jobs=2", f"--out={out}"])
    found = json.loads((out / "sweep.json").read_text())["sweep"]["memory"]
    first, last = found["after each job, MB"]
    assert first > 50
    assert found["growth after the tenth"] == pytest.approx(last / first - 1)
    assert "growth after 1 jobs" in capsys.readouterr().out


def test_a_run_that_fails_is_said() -> None:
    with pytest.raises(UserError, match="no such"):
        sweep.seconds(sweep.train(["model/encoder=nowhere"]))
