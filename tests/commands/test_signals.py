"""SIGINT and SIGTERM, sent to two runs that were started at the same time in one folder."""

import json
import signal
import time
from pathlib import Path

from tests.forks import Fork
from tests.helpers import command
from tests.training.loggers.records import read_summary

ENDLESS = ("callbacks=checkpoints", "trainer.max_epochs=1000000", "model.encoder.hidden_dim=6")


def test_a_run_that_receives_a_signal_writes_its_files(tmp_path: Path) -> None:
    """Two runs, each of which receives one of the signals after both have saved a checkpoint."""
    line, options = command(tmp_path, "train", *ENDLESS, "logger=[csv,wandb]")
    codes = {signal.SIGINT: 130, signal.SIGTERM: 143}
    runs = {signum: Fork([*line, f"seed={signum:d}"], options, merge=True) for signum in codes}
    try:
        while len(list(tmp_path.glob("outputs/train/runs/*/checkpoints/last.ckpt"))) < len(runs):
            assert all(run.poll() is None for run in runs.values()), "a run ended without a signal"
            time.sleep(0.05)
        for signum, run in runs.items():
            run.send_signal(signum)
        outputs = {signum: run.communicate()[0] for signum, run in runs.items()}
    finally:
        for run in runs.values():
            run.kill()
    folders = sorted(tmp_path.glob("outputs/train/runs/*"))
    assert len(folders) == 2  # although both started at the same time
    for folder in folders:
        result = json.loads((folder / "result.json").read_text())
        signum = signal.Signals(result["seed"])
        assert (result["status"], result["error"]) == ("interrupted", f"stopped by {signum.name}")
        assert runs[signum].returncode == codes[signum] and "Traceback" not in outputs[signum], outputs[signum]
        assert f"ckpt_path={folder / 'checkpoints' / 'last.ckpt'}" in outputs[signum]
        log = read_summary(folder)
        assert (log["state"], log["exit_code"]) == ("failed", 255)  # closed; otherwise the state would be "running"
        assert "train/loss" in log["summary"]
        assert "train/loss" in (folder / "csv" / "metrics.csv").read_text()
