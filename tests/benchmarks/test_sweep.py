"""`python -m benchmarks.sweep`: the memory of a small sweep, and the printed table."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import sweep
from benchmarks.training import start_training, wait
from src.errors import UserError
from src.run_result import RESULT_FILE
from tests.sweep.sweeps import start_sweep


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_is_measured_after_each_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep, "AFTER", 1)
    monkeypatch.setattr(sweep, "start_training", lambda line: start_sweep(tmp_path, *line))
    out = tmp_path / "out"
    sweep.main(tmp_path, ["--only=memory", "--jobs=2", f"--out={out}"])
    record = json.loads((out / "sweep.json").read_text())["sweep"]["memory"]
    first, last = record["after each job, MB"]
    assert first > 50
    assert record["growth after the tenth"] == pytest.approx(last / first - 1)
    assert "growth after 1 jobs" in capsys.readouterr().out


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_jobs_that_finish_after_the_last_measurement_have_the_memory_of_that_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = tmp_path / "jobs"
    for number in "01":
        (jobs / number).mkdir(parents=True)
        (jobs / number / RESULT_FILE).touch()
    folder = tmp_path / "sweeps"
    folder.mkdir()
    finish = "import os, sys, time; time.sleep(0.2); os.rename(*sys.argv[1:])"
    line = [sys.executable, "-c", finish, str(jobs), str(folder / "many")]
    monkeypatch.setattr(sweep, "AFTER", 1)
    monkeypatch.setattr(sweep, "start_training", lambda _: subprocess.Popen(line, stderr=subprocess.PIPE, text=True))
    record = sweep.growth([], folder, sweep.parse_arguments(["--jobs=2"]))
    first, last = record["after each job, MB"]
    assert first == last > 0
    assert record["growth after the tenth"] == 0


def test_a_failed_run_is_reported() -> None:
    with pytest.raises(UserError, match="no such"):
        wait(start_training(["model/encoder=nowhere"]))


def test_the_rate_is_the_number_of_reviews_of_all_jobs_per_second_of_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    durations = iter([2.0, 4.0])
    lines: list[list[str]] = []
    monkeypatch.setattr(sweep, "start_training", lines.append)
    monkeypatch.setattr(sweep, "wait", lambda process: next(durations))
    sweep.main(tmp_path, ["--quick", "--only=rate", "--at-once=3", f"--out={tmp_path}"])
    record = json.loads((tmp_path / "sweep.json").read_text())["sweep"]["rate"]
    reviews = 2 * 5 * 32  # jobs, batches, reviews of a batch
    assert record["reviews/s by jobs × threads"] == {
        "1 × 3": [reviews / 2],
        "3 × 1": [reviews / 4],
    }
    assert ["hydra.launcher.n_jobs=3" in line for line in lines] == [False, True]
    assert "3 × 1 (jobs × threads)" in capsys.readouterr().out
