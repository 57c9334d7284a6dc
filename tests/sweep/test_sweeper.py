"""Real sweeps: a job that fails, Ctrl-C, and a plan."""

import json
import re
import signal
import time
from pathlib import Path

from tests.sweep.sweeps import SMALL, results, started, swept


def statuses(sweep: Path) -> list[str]:
    return [job["status"] for job in json.loads((sweep / "sweep.json").read_text())["jobs"]]


def test_a_failing_job_leaves_the_others_running(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    rates = ("optimizer.lr=0.01,1e30,0.02", "trainer.max_epochs=2", f"hydra.sweep.dir={sweep}")
    code, said = swept(tmp_path, "-m", *rates, *SMALL[::2], "callbacks=[checkpoints,finite_loss]")
    assert code == 1
    assert statuses(sweep) == ["completed", "failed", "completed"]
    assert [record["command"].split()[3] for record in results(sweep).values()] == [
        "optimizer.lr=0.01", "optimizer.lr=1e+30", "optimizer.lr=0.02"
    ]  # fmt: skip
    assert "2 completed, 1 failed." in said
    assert len(re.findall("loss", said.partition("To run what is missing")[0].rpartition("test acc")[2])) >= 1
    assert "To run what is missing: python -m src.train sweep.resume=sweep" in said
    code, said = swept(tmp_path, "-m", *rates, *SMALL[::2])
    assert code == 1
    assert f"{sweep} holds a sweep already: go on with it by sweep.resume={sweep}" in said


def test_ctrl_c_stops_what_runs_and_leaves_the_rest_pending(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    process = started(tmp_path, "-m", "seed=1,2", "trainer.max_epochs=100000", *SMALL, f"hydra.sweep.dir={sweep}")
    while not list(sweep.glob("0*/checkpoints/last.ckpt")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert statuses(sweep) == ["interrupted", "pending"]
    assert "1 interrupted, 1 pending." in said
    code, said = swept(tmp_path, f"sweep.resume={sweep}", "sweep.dry_run=true")
    assert code == 0
    assert "2 jobs: about" in said
    assert "Nothing was started" in said
    assert statuses(sweep) == ["interrupted", "pending"]
