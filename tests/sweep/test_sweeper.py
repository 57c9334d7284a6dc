"""Real sweeps: a failing job, signals, a dry run, and a job on two devices."""

import signal
import time
from pathlib import Path

import numpy as np
import pytest

from heedful.base.files import lock_folder, write_arrays
from heedful.sweep.job import recorded_result
from tests.run_folders import predictions, write_run
from tests.sweep.sweeps import SMALL, read_results, read_statuses, run_sweep, start_sweep


@pytest.mark.parametrize("split", ["val", "test"])
def test_a_job_whose_predictions_are_damaged_is_not_completed(split: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", *predictions(31, 2))
    assert recorded_result(run).status == "completed"
    path = run / "predictions" / f"{split}.npz"
    write_arrays(path, probabilities=np.ones(3))
    path.write_bytes(path.read_bytes()[:-40])
    assert recorded_result(run).status == "pending"


def test_the_other_jobs_of_a_sweep_run_if_a_job_fails(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    rates = ("optimizer.lr=1e30,0.02", "trainer.max_epochs=1", f"hydra.sweep.dir={sweep}")
    output = run_sweep(tmp_path, "-m", *rates, *SMALL[::2], "callbacks=checkpoints", code=1)
    assert read_statuses(sweep) == ["failed", "completed"]
    assert [record["command"].split()[3] for record in read_results(sweep).values()] == [
        "optimizer.lr=1e+30", "optimizer.lr=0.02"
    ]  # fmt: skip
    assert sorted(read_results(sweep)) == ["0_lr-1e-30", "1_lr-0.02"]
    assert "1 completed, 1 failed." in output
    assert "1_lr-0.02: completed (accuracy" in output
    assert "loss" in output.partition("To run the remaining jobs")[0].rpartition("accuracy")[2]
    assert f"To run the remaining jobs: python -m src.train sweep.resume={sweep}/" in output
    output = run_sweep(tmp_path, "-m", *rates, *SMALL[::2], code=1)
    assert f"{sweep} already contains a sweep: resume it with sweep.resume={sweep}" in output
    output = run_sweep(tmp_path, "sweep.resume=sweep", code=1)
    assert "1_lr-0.02:" not in output and "0_lr-1e-30: failed" in output
    with lock_folder(sweep):
        output = run_sweep(tmp_path, "sweep.resume=sweep", code=1)
    assert "another process is running the sweep" in output


@pytest.mark.parametrize("signum", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.weekly)])
def test_a_signal_stops_the_running_job_and_leaves_the_others_pending(signum: signal.Signals, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    process = start_sweep(tmp_path, "-m", "seed=1,2", "trainer.max_epochs=100000", *SMALL, f"hydra.sweep.dir={sweep}")
    while not list(sweep.glob("0*/checkpoints/last.ckpt")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signum)
    output, _ = process.communicate()
    assert process.returncode == 128 + signum, output
    assert "Traceback" not in output
    assert read_statuses(sweep) == ["interrupted", "pending"]
    assert "1 interrupted, 1 pending." in output and f"stopped by {signum.name}" in output
    output = run_sweep(tmp_path, f"sweep.resume={sweep}", "sweep.dry_run=true")
    assert output.count("tokens per text, median") == 1
    assert "2 jobs of 2" in output and "Nothing was started" in output
    assert read_statuses(sweep) == ["interrupted", "pending"]


def test_an_option_of_swept_choices_may_be_absent_from_the_default_choice(tmp_path: Path) -> None:
    options = ("model/attention=multi_head,windowed", "model.attention.heads=${model.encoder.hidden_dim}")
    output = run_sweep(tmp_path, "-m", *options, *SMALL, "sweep.dry_run=true")
    assert "0_attention-multi_head " in output and "1_attention-windowed " in output


def test_a_job_trains_on_two_devices(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    options = ("seed=3", "trainer=ddp_sim", "trainer.max_epochs=1", *SMALL)
    run_sweep(tmp_path, "-m", *options, f"hydra.sweep.dir={sweep}")
    (folder,) = sweep.glob("0_*")
    assert read_statuses(sweep) == ["completed"]
    assert (folder / "train_ddp_process_1.log").exists()  # the second process wrote to the folder of the job
    assert sorted(path.name for path in sweep.glob("[0-9]*")) == [folder.name]
