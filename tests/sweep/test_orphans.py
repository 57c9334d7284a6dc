"""A killed sweep leaves no process behind and can be resumed immediately."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sweep.sweeps import SMALL, start_sweep

MARK = "HEED_TEST_SWEEP"  # environment variable that every process of a sweep inherits


def find_processes(sweep: Path) -> set[int]:
    """Return the ids of all living processes of a sweep."""
    mark = f"{MARK}={sweep}".encode()
    living = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0") and " Z " not in (path.parent / "stat").read_text():
                living.add(int(path.parent.name))
        except OSError:  # the process ended or belongs to another user
            pass
    return living


def wait_for_checkpoints(process: "subprocess.Popen[str]", sweep: Path, count: int) -> None:
    while len(list(sweep.glob("*/checkpoints/last.ckpt"))) < count:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
@pytest.mark.parametrize(
    ("options", "running"), [(["hydra/launcher=joblib", "hydra.launcher.n_jobs=3"], 2), (["hydra/launcher=basic"], 1)]
)
def test_a_killed_sweep_leaves_no_process(
    options: list[str], running: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of joblib's three workers has no job. Resuming does not depend on the launcher, so it is tested once."""
    if running > 1:
        pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    sweep = tmp_path / "sweep"
    monkeypatch.setenv(MARK, str(sweep))
    process = start_sweep(
        tmp_path, "-m", "seed=1,2", "trainer.max_epochs=1000000", *SMALL, f"hydra.sweep.dir={sweep}", *options
    )
    try:
        wait_for_checkpoints(process, sweep, running)
        assert len(find_processes(sweep)) > running
        process.kill()
        process.communicate()
        while find_processes(sweep):
            time.sleep(0.05)
        if running == 1:
            return
        resumed = start_sweep(tmp_path, f"sweep.resume={sweep}", "hydra/launcher=basic")
        while not any("Resuming at step" in log.read_text() for log in sweep.glob("0_*/train.log")):
            assert resumed.poll() is None, resumed.communicate()[0]
            time.sleep(0.05)
        resumed.send_signal(signal.SIGINT)
        output, _ = resumed.communicate()
        assert resumed.returncode == 130, output
        assert "Traceback" not in output
        assert [job["status"] for job in json.loads((sweep / "sweep.json").read_text())["jobs"]][1] != "running"
    finally:
        for pid in find_processes(sweep):
            os.kill(pid, signal.SIGKILL)
