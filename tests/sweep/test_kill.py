"""Sweeps whose processes are killed."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.forks import Fork, complete
from tests.helpers import command, read_csv, train
from tests.sweep.sweeps import SMALL, find_descendants, find_job, read_results, start_sweep, wait_for_end

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
SEEDS = (1, 2)
OPTIONS = ("trainer.max_epochs=4", "data.batch_size=4", *SMALL)


def new_interpreter(line: list[str], options: dict[str, Any]) -> Any:
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def wait_for_unfinished_checkpoint(sweep: Path, process: Any) -> None:
    """Wait until a job has a checkpoint but no result."""
    while process.poll() is None:
        checkpoints = sweep.glob("*/checkpoints/last.ckpt")
        if any(not (path.parents[1] / "result.json").exists() for path in checkpoints):
            return
        time.sleep(0.05)


def validation_losses(folder: Path) -> list[str]:
    return [row["val/loss"] for row in read_csv(folder / "csv" / "metrics.csv") if row["val/loss"]]


@pytest.mark.parametrize("start", [Fork, pytest.param(new_interpreter, marks=pytest.mark.weekly)])
def test_kills_do_not_change_the_results_of_a_sweep(start: Any, tmp_path: Path) -> None:
    """A job and then the sweep are killed at random moments; the sweep is resumed immediately."""
    sweep = tmp_path / "sweep"
    moments = random.Random(7)
    line, options = command(
        tmp_path, "train", "-m", f"seed={','.join(map(str, SEEDS))}", *OPTIONS, f"hydra.sweep.dir={sweep}"
    )
    process = start(line, options)
    wait_for_unfinished_checkpoint(sweep, process)
    job = find_job(process.pid)
    assert job is not None
    os.kill(job, signal.SIGKILL)
    while not any("SIGKILL" in path.read_text() for path in sweep.glob("*/result.json")):
        assert process.poll() is None
        time.sleep(0.05)
    wait_for_unfinished_checkpoint(sweep, process)
    time.sleep(moments.uniform(0, 0.3))
    orphans = find_descendants(process.pid)
    process.kill()
    process.communicate()
    resumed = complete(*command(tmp_path, "train", f"sweep.resume={sweep}"))
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "Traceback" not in resumed.stderr and "Resuming from" in resumed.stderr
    wait_for_end(orphans)
    results = read_results(sweep)
    assert len(results) == len(SEEDS)
    for seed, (name, record) in zip(SEEDS, results.items(), strict=True):
        single = tmp_path / f"single_{seed}"
        expected = train(single, f"seed={seed}", *OPTIONS)
        assert record["metrics"] == expected["metrics"]
        assert record["best"] == expected["best"]
        assert validation_losses(sweep / name) == validation_losses(single)


def test_a_killed_sweep_with_workers_leaves_no_process(tmp_path: Path) -> None:
    """One of joblib's two workers has no job."""
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    sweep = tmp_path / "sweep"
    launcher = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    endless = ("seed=1", "trainer.max_epochs=1000000", *SMALL)
    process = start_sweep(tmp_path, "-m", *endless, *launcher, f"hydra.sweep.dir={sweep}")
    descendants = set[int]()
    try:
        wait_for_unfinished_checkpoint(sweep, process)
        descendants = find_descendants(process.pid)
        process.kill()
        process.communicate()
        assert len(descendants) > 2
        wait_for_end(descendants)
    finally:
        process.kill()
        for pid in descendants:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_process_ends_if_its_parent_ended_before_it_started(tmp_path: Path) -> None:
    """The parent of a process of joblib has no sentinel, which `is_alive` needs."""
    code = """
import multiprocessing, time
from types import SimpleNamespace
from heedful.sweep.job import die_with_parent
def is_alive():
    raise ValueError("no sentinel")
multiprocessing.parent_process = lambda: SimpleNamespace(pid=-1, is_alive=is_alive)
die_with_parent()
time.sleep(30)
"""
    (python, *_), options = command(tmp_path, "train")
    process = complete([python, "-c", code], options)
    assert process.returncode == -signal.SIGKILL, process.stderr
