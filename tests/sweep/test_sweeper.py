"""Real sweeps: a failing job, Ctrl-C and a dry run."""

import json
import re
import signal
import time
from pathlib import Path

from tests.sweep.sweeps import SMALL, read_results, run_sweep, start_sweep


def read_statuses(sweep: Path) -> list[str]:
    return [job["status"] for job in json.loads((sweep / "sweep.json").read_text())["jobs"]]


def _use_earlier_names(sweep: Path) -> None:
    """Rename the folders as in earlier versions, whose names also contain the overrides that all jobs share."""
    record = json.loads((sweep / "sweep.json").read_text())
    for job in record["jobs"]:
        (sweep / job["folder"]).rename(sweep / f"{job['folder']}_max_epochs-2")
        job["folder"] += "_max_epochs-2"
    (sweep / "sweep.json").write_text(json.dumps(record))


def test_the_other_jobs_of_a_sweep_run_if_a_job_fails(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    rates = ("optimizer.lr=0.01,1e30,0.02", "trainer.max_epochs=2", f"hydra.sweep.dir={sweep}")
    code, output = run_sweep(tmp_path, "-m", *rates, *SMALL[::2], "callbacks=[checkpoints,finite_loss]")
    assert code == 1
    assert read_statuses(sweep) == ["completed", "failed", "completed"]
    assert [record["command"].split()[3] for record in read_results(sweep).values()] == [
        "optimizer.lr=0.01", "optimizer.lr=1e+30", "optimizer.lr=0.02"
    ]  # fmt: skip
    assert "2 completed, 1 failed." in output
    assert sorted(read_results(sweep)) == ["0_lr-0.01", "1_lr-1e-30", "2_lr-0.02"]
    assert "#0 optimizer.lr=0.01: completed" in output
    assert len(re.findall("loss", output.partition("To run the remaining jobs")[0].rpartition("accuracy")[2])) >= 1
    assert "To run the remaining jobs: python -m src.train sweep.resume=sweep" in output
    code, output = run_sweep(tmp_path, "-m", *rates, *SMALL[::2])
    assert code == 1
    assert f"{sweep} already contains a sweep: resume it with sweep.resume={sweep}" in output
    _use_earlier_names(sweep)
    code, output = run_sweep(tmp_path, f"sweep.resume={sweep}")
    assert code == 1
    names = ["0_lr-0.01_max_epochs-2", "1_lr-1e-30_max_epochs-2", "2_lr-0.02_max_epochs-2"]
    assert sorted(read_results(sweep)) == names  # the names of the folders are unchanged
    assert "#0" not in output.rpartition("accuracy")[0] and "#1 optimizer.lr=1e+30: failed" in output


def test_ctrl_c_stops_the_running_job_and_leaves_the_others_pending(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    process = start_sweep(tmp_path, "-m", "seed=1,2", "trainer.max_epochs=100000", *SMALL, f"hydra.sweep.dir={sweep}")
    while not list(sweep.glob("0*/checkpoints/last.ckpt")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert read_statuses(sweep) == ["interrupted", "pending"]
    assert "1 interrupted, 1 pending." in output
    code, output = run_sweep(tmp_path, f"sweep.resume={sweep}", "sweep.dry_run=true")
    assert code == 0
    assert "2 jobs. Their duration is unknown" in output
    assert "Nothing was started" in output
    assert read_statuses(sweep) == ["interrupted", "pending"]
