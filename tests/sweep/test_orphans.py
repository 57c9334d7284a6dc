"""A killed sweep leaves no process behind and can be resumed immediately."""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.forks import Fork
from tests.sweep.sweeps import SMALL, start_sweep


def find_descendants(pid: int) -> set[int]:
    """Return the ids of the processes that a process and its descendants started."""
    with suppress(FileNotFoundError):  # the process has ended
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        children = {int(child) for task in tasks for child in task.read_text().split()}
        return children.union(*map(find_descendants, children))
    return set()


def is_alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def wait_for_checkpoints(process: Fork, sweep: Path, count: int) -> None:
    while len(list(sweep.glob("*/checkpoints/last.ckpt"))) < count:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
@pytest.mark.parametrize(
    ("options", "num_jobs"), [(["hydra/launcher=joblib", "hydra.launcher.n_jobs=3"], 2), (["hydra/launcher=basic"], 1)]
)
def test_a_killed_sweep_leaves_no_process(options: list[str], num_jobs: int, tmp_path: Path) -> None:
    """One of joblib's three workers has no job. Resuming does not depend on the launcher, so it is tested once."""
    if num_jobs > 1:
        pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    sweep = tmp_path / "sweep"
    process = start_sweep(
        tmp_path, "-m", "seed=1,2", "trainer.max_epochs=1000000", *SMALL, f"hydra.sweep.dir={sweep}", *options
    )
    sweeps, descendants = [process], set[int]()
    try:
        wait_for_checkpoints(process, sweep, num_jobs)
        descendants = find_descendants(process.pid)
        assert len(descendants) >= num_jobs
        process.kill()
        process.communicate()
        while any(map(is_alive, descendants)):
            time.sleep(0.05)
        if num_jobs == 1:
            return
        resumed = start_sweep(tmp_path, f"sweep.resume={sweep}", "hydra/launcher=basic")
        sweeps.append(resumed)
        while not any("Resuming at step" in log.read_text() for log in sweep.glob("0_*/train.log")):
            assert resumed.poll() is None, resumed.communicate()[0]
            time.sleep(0.05)
        resumed.send_signal(signal.SIGINT)
        output, _ = resumed.communicate()
        assert resumed.returncode == 130, output
        assert "Traceback" not in output
        assert [job["status"] for job in json.loads((sweep / "sweep.json").read_text())["jobs"]][1] != "running"
    finally:
        for sweep_process in sweeps:
            sweep_process.kill()
        for pid in filter(is_alive, descendants):
            os.kill(pid, signal.SIGKILL)
