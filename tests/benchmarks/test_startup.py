"""`python -m benchmarks.startup`: the probe in a training, and a training that fails."""

from pathlib import Path

import pytest

from benchmarks import command
from heedful.base.errors import UserError
from tests.helpers import train


def test_the_probe_records_the_cpu_seconds_before_the_first_step(tmp_path: Path) -> None:
    probe = ("+callbacks.probe._target_=benchmarks.startup.Probe", f"+callbacks.probe.path='{tmp_path / 'seconds'}'")
    train(tmp_path / "run", *probe, "extras.trusted_modules=[benchmarks]", "test=false")
    assert float((tmp_path / "seconds").read_text()) > 0


def test_a_failed_training_reports_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such option >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    with pytest.raises(UserError, match="no such option"):
        command.train()
