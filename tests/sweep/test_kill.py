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
from tests.helpers import train
from tests.sweep.sweeps import SMALL, find_job_processes, read_results, start_sweep

SEEDS = (1, 2, 3)
OPTIONS = ("trainer.max_epochs=4", *SMALL)
KILLS = (2, 0)  # number of kills in the first run and in the resumed run


def kill_jobs(process: Fork, sweep: Path, moments: random.Random, kills: int) -> None:
    """Send SIGKILL to running jobs `kills` times, each time after a running or killed job has a checkpoint."""
    while process.poll() is None and kills:
        while process.poll() is None and not (
            has_killed_job_with_checkpoint(sweep) or has_running_job_with_checkpoint(sweep)
        ):
            time.sleep(0.01)
        for pid in find_job_processes(process)[:1]:
            with suppress(ProcessLookupError):  # the process has ended
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
    """The results of killed and resumed jobs equal those of single runs."""
    sweep = tmp_path / "sweep"
    moments = random.Random(7)
    codes, output = [], ""
    for kills in KILLS:
        seeds = ",".join(map(str, SEEDS))
        arguments = (
            [f"sweep.resume={sweep}"] if codes else ["-m", f"seed={seeds}", *OPTIONS, f"hydra.sweep.dir={sweep}"]
        )
        process = start_sweep(tmp_path, *arguments)
        kill_jobs(process, sweep, moments, kills)
        text, _ = process.communicate()
        assert "Traceback" not in text, text
        codes.append(process.returncode)
        output += text
    assert codes == [1, 0], output
    assert "killed by SIGKILL" in output
    assert "Resuming at step" in output
    results = read_results(sweep)
    assert len(results) == len(SEEDS)
    for seed, (name, record) in zip(SEEDS, results.items(), strict=True):
        single = tmp_path / f"single_{seed}"
        expected = train(single, f"seed={seed}", *OPTIONS)
        assert record["metrics"] == expected["metrics"]
        assert record["best"] == expected["best"]
        assert validation_losses(sweep / name) == validation_losses(single)
