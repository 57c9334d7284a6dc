"""Jobs killed at random moments, and the sweep resumed until all is done."""

import csv
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.sweep.sweeps import SMALL, jobs_of, results, started, swept

ARGUMENTS = ("-m", "seed=1,2,3,4,5,6", "optimizer.lr=0.01,0.02", "trainer.max_epochs=4", *SMALL)
KILLS = (6, 0)  # in the sweep, and when it is resumed


def kill(process: subprocess.Popen[str], sweep: Path, moments: random.Random, kills: int) -> None:
    """Send SIGKILL to whichever job runs, several times; to one that has a checkpoint, until one such was killed."""
    while process.poll() is None and kills:
        while process.poll() is None and not (can_resume(sweep) or half_done(sweep)):
            time.sleep(0.01)
        for job in jobs_of(process)[:1]:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(job, signal.SIGKILL)
                kills -= 1
        time.sleep(moments.uniform(0.2, 1.2))


def can_resume(sweep: Path) -> bool:
    """Whether a job that was killed has a checkpoint."""
    killed = [path for path in sweep.glob("*/result.json") if "SIGKILL" in path.read_text()]
    return any((path.parent / "checkpoints" / "last.ckpt").exists() for path in killed)


def half_done(sweep: Path) -> bool:
    """Whether a job has a checkpoint and no result."""
    return any(not (path.parents[1] / "result.json").exists() for path in sweep.glob("*/checkpoints/last.ckpt"))


def epochs(folder: Path) -> list[str]:
    with (folder / "csv" / "metrics.csv").open(newline="") as file:
        return [row["val/loss"] for row in csv.DictReader(file) if row["val/loss"]]


@pytest.mark.skipif(sys.platform != "linux", reason="finds the jobs in /proc")
def test_a_disturbed_sweep_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    calm, wild = tmp_path / "calm", tmp_path / "wild"
    code, said = swept(tmp_path, *ARGUMENTS, f"hydra.sweep.dir={calm}")
    assert code == 0, said
    moments = random.Random(7)
    codes, output = [], ""
    for kills in KILLS:
        given = [f"sweep.resume={wild}"] if codes else [*ARGUMENTS, f"hydra.sweep.dir={wild}"]
        process = started(tmp_path, *given)
        kill(process, wild, moments, kills)
        said, _ = process.communicate()
        assert "Traceback" not in said, said
        codes.append(process.returncode)
        output += said
    assert codes == [1, 0], output
    assert "killed by SIGKILL" in output
    assert "Going on at step" in output
    expected, found = results(calm), results(wild)
    assert len(expected) == 12
    assert {name: record["metrics"] for name, record in found.items()} == {
        name: record["metrics"] for name, record in expected.items()
    }
    assert {name: record["best"] for name, record in found.items()} == {
        name: record["best"] for name, record in expected.items()
    }
    assert {name: epochs(wild / name) for name in found} == {name: epochs(calm / name) for name in expected}
