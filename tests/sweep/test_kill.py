"""A sweep whose jobs are killed at random moments and which is resumed until all jobs are completed."""

import csv
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.forks import Fork
from tests.sweep.sweeps import SMALL, find_job_processes, read_results, run_sweep, start_sweep

ARGUMENTS = ("-m", "seed=1,2,3", "optimizer.lr=0.01,0.02", "trainer.max_epochs=4", *SMALL)
KILLS = (4, 0)  # number of kills in the first run and in the resumed one


def kill_jobs(process: Fork, sweep: Path, moments: random.Random, kills: int) -> None:
    """Send SIGKILL to running jobs several times; wait for a checkpoint until a job with one was killed."""
    while process.poll() is None and kills:
        while process.poll() is None and not (
            has_killed_job_with_checkpoint(sweep) or has_running_job_with_checkpoint(sweep)
        ):
            time.sleep(0.01)
        for pid in find_job_processes(process)[:1]:
            with suppress(ProcessLookupError):  # the process has just ended
                os.kill(pid, signal.SIGKILL)
                kills -= 1
        time.sleep(moments.uniform(0.2, 1.2))


def has_killed_job_with_checkpoint(sweep: Path) -> bool:
    """Return whether a killed job has a checkpoint."""
    killed = [path for path in sweep.glob("*/result.json") if "SIGKILL" in path.read_text()]
    return any((path.parent / "checkpoints" / "last.ckpt").exists() for path in killed)


def has_running_job_with_checkpoint(sweep: Path) -> bool:
    """Return whether a job has a checkpoint but no result."""
    return any(not (path.parents[1] / "result.json").exists() for path in sweep.glob("*/checkpoints/last.ckpt"))


def validation_losses(folder: Path) -> list[str]:
    with (folder / "csv" / "metrics.csv").open(newline="") as file:
        return [row["val/loss"] for row in csv.DictReader(file) if row["val/loss"]]


@pytest.mark.skipif(sys.platform != "linux", reason="finds the jobs in /proc")
def test_killed_jobs_do_not_change_the_results_of_a_sweep(tmp_path: Path) -> None:
    calm, wild = tmp_path / "calm", tmp_path / "wild"
    code, output = run_sweep(tmp_path, *ARGUMENTS, f"hydra.sweep.dir={calm}")
    assert code == 0, output
    moments = random.Random(7)
    codes, output = [], ""
    for kills in KILLS:
        arguments = [f"sweep.resume={wild}"] if codes else [*ARGUMENTS, f"hydra.sweep.dir={wild}"]
        process = start_sweep(tmp_path, *arguments)
        kill_jobs(process, wild, moments, kills)
        printed, _ = process.communicate()
        assert "Traceback" not in printed, printed
        codes.append(process.returncode)
        output += printed
    assert codes == [1, 0], output
    assert "killed by SIGKILL" in output
    assert "Resuming at step" in output
    expected, actual = read_results(calm), read_results(wild)
    assert len(expected) == 6
    assert {name: record["metrics"] for name, record in actual.items()} == {
        name: record["metrics"] for name, record in expected.items()
    }
    assert {name: record["best"] for name, record in actual.items()} == {
        name: record["best"] for name, record in expected.items()
    }
    assert {name: validation_losses(wild / name) for name in actual} == {
        name: validation_losses(calm / name) for name in expected
    }
