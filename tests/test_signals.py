"""Ctrl-C and SIGTERM, sent to real runs that were started at once in one folder."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from tests.forks import Fork
from tests.helpers import command, train
from tests.loggers.records import recorded

ENDLESS = ("callbacks=checkpoints", "trainer.max_epochs=1000000", "model.encoder.hidden_dim=6")


class Ended(NamedTuple):
    code: int
    output: str
    folder: Path


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Ended]]:
    """A run stopped by each signal, once both trained."""
    folder = tmp_path_factory.mktemp("signals")
    line, options = command(folder, "train", *ENDLESS, "logger=[csv,wandb]")
    signals = (signal.SIGINT, signal.SIGTERM)
    runs = {signum: Fork([*line, f"seed={signum:d}"], options, merge=True) for signum in signals}
    try:
        while len(list(folder.glob("outputs/train/runs/*/checkpoints/last.ckpt"))) < len(runs):
            assert all(run.poll() is None for run in runs.values()), "a run ended by itself"
            time.sleep(0.05)
        for signum, run in runs.items():
            run.send_signal(signum)
        output = {signum: run.communicate()[0] for signum, run in runs.items()}
    finally:
        for run in runs.values():
            run.kill()
    results = folder.glob("outputs/train/runs/*/result.json")
    folders = {json.loads(path.read_text())["seed"]: path.parent for path in results}
    yield {signum: Ended(run.returncode, output[signum], folders[signum]) for signum, run in runs.items()}


def test_two_runs_started_at_once_have_folders_of_their_own(ended: dict[int, Ended]) -> None:
    first, second = (end.folder for end in ended.values())
    assert first != second
    assert len(list(first.parent.iterdir())) == 2


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_in_order(ended: dict[int, Ended], signum: int, code: int) -> None:
    end = ended[signum]
    assert end.code == code, end.output
    assert "Traceback" not in end.output
    result = json.loads((end.folder / "result.json").read_text())
    assert result["status"] == "interrupted"
    assert result["error"] == f"stopped by {signal.Signals(signum).name}"
    assert f"ckpt_path={end.folder / 'checkpoints' / 'last.ckpt'}" in end.output
    log = recorded(end.folder)
    assert log["state"] == "failed"  # closed; one that was not would still be running
    assert "train/loss" in log["summary"]
    assert "train/loss" in (end.folder / "csv" / "metrics.csv").read_text()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_the_run_resumes(ended: dict[int, Ended], signum: int, tmp_path: Path) -> None:
    last = ended[signum].folder / "checkpoints" / "last.ckpt"
    before = torch.load(last, weights_only=True)
    epochs = f"trainer.max_epochs={before['epoch'] + 3}"
    train(tmp_path / "run", "callbacks=checkpoints", "test=false", epochs, f"seed={signum:d}", f"ckpt_path='{last}'")
    after = torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", weights_only=True)
    assert after["epoch"] == before["epoch"] + 2
    assert after["global_step"] > before["global_step"]
