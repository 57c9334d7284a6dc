"""SIGINT and SIGTERM, sent to two runs that were started at the same time in one folder."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.forks import Fork
from tests.helpers import command
from tests.training.loggers.records import read_summary

ENDLESS = ("callbacks=checkpoints", "trainer.max_epochs=1000000", "model.encoder.hidden_dim=6")


class EndedRun(NamedTuple):
    code: int
    output: str
    folder: Path


@pytest.fixture(scope="module")
def ended_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, EndedRun]]:
    """Two runs, each of which received one of the signals after both had saved a checkpoint."""
    folder = tmp_path_factory.mktemp("signals")
    line, options = command(folder, "train", *ENDLESS, "logger=[csv,wandb]")
    signals = (signal.SIGINT, signal.SIGTERM)
    runs = {signum: Fork([*line, f"seed={signum:d}"], options, merge=True) for signum in signals}
    try:
        while len(list(folder.glob("outputs/train/runs/*/checkpoints/last.ckpt"))) < len(runs):
            assert all(run.poll() is None for run in runs.values()), "a run ended without a signal"
            time.sleep(0.05)
        for signum, run in runs.items():
            run.send_signal(signum)
        output = {signum: run.communicate()[0] for signum, run in runs.items()}
    finally:
        for run in runs.values():
            run.kill()
    results = folder.glob("outputs/train/runs/*/result.json")
    folders = {json.loads(path.read_text())["seed"]: path.parent for path in results}
    yield {signum: EndedRun(run.returncode, output[signum], folders[signum]) for signum, run in runs.items()}


def test_two_runs_that_start_at_the_same_time_have_different_folders(ended_runs: dict[int, EndedRun]) -> None:
    first, second = (run.folder for run in ended_runs.values())
    assert first != second
    assert len(list(first.parent.iterdir())) == 2


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_receives_a_signal_writes_its_files(ended_runs: dict[int, EndedRun], signum: int, code: int) -> None:
    run = ended_runs[signum]
    assert run.code == code, run.output
    assert "Traceback" not in run.output
    result = json.loads((run.folder / "result.json").read_text())
    assert result["status"] == "interrupted"
    assert result["error"] == f"stopped by {signal.Signals(signum).name}"
    assert f"ckpt_path={run.folder / 'checkpoints' / 'last.ckpt'}" in run.output
    log = read_summary(run.folder)
    assert (log["state"], log["exit_code"]) == ("failed", 255)  # closed; otherwise the state would still be "running"
    assert "train/loss" in log["summary"]
    assert "train/loss" in (run.folder / "csv" / "metrics.csv").read_text()
