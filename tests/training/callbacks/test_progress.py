"""The lines of epochs without a terminal and above the bar in a terminal, and the log file."""

import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heedful.runs.result import RunResult
from tests.forks import complete
from tests.helpers import command, train

OPTIONS = ("callbacks=[checkpoints,early_stopping,progress]", "test=false", "trainer.max_epochs=3")
CLOSED_PIPE = """
import os, sys
read_end, write_end = os.pipe()
os.close(read_end)
os.dup2(write_end, 1)
sys.stdout = open(1, "w", closefd=False)
from heedful.base.process import set_up_process
set_up_process()
from heedful.commands.train import main
main()
"""
EPOCH = r"Epoch {} of 3: train/loss [\d.]+, train/acc [\d.]+, val/loss [\d.]+, val/acc [\d.]+, [\d,]+ texts/s$"


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    """A log file of the root logger, as in a run of Hydra."""
    handler = logging.FileHandler(tmp_path / "train.log")
    logging.getLogger().addHandler(handler)
    yield tmp_path / "train.log"
    logging.getLogger().removeHandler(handler)
    handler.close()


def test_without_a_terminal_each_epoch_has_one_plain_line(tmp_path, log_file: Path, capsys) -> None:
    train(tmp_path / "run", *OPTIONS, "test=true")
    output = capsys.readouterr().out
    assert "\x1b" not in output and "\r" not in output and "━" not in output
    lines = [line for line in output.splitlines() if line.startswith("Epoch")]
    assert len(lines) == 3
    for number, line in enumerate(lines, 1):
        assert re.match(EPOCH.format(number), line), line
    log = log_file.read_text().splitlines()
    assert [line for line in log if line.startswith("Epoch")] == lines
    end = next(line for line in log if line.startswith("Completed"))
    assert re.fullmatch(r"Completed after \d.* s", end)


def test_long_epochs_have_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("heedful.base.progress.INTERVAL", 0.0)
    train(tmp_path / "run", *OPTIONS, "data.batch_size=11")
    lines = [line for line in capsys.readouterr().out.splitlines() if "batches" in line]
    batches = int(lines[0].split(" of ")[2].split()[0])
    assert lines == [
        f"Epoch {epoch} of 3: {i} of {batches} batches" for epoch in (1, 2, 3) for i in range(1, batches + 1)
    ]


def test_a_validation_of_an_earlier_epoch_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(tmp_path / "run", *OPTIONS, "trainer.check_val_every_n_epoch=2")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Epoch")]
    assert ["val/loss" in line for line in lines] == [False, True, False]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["callbacks.early_stopping.patience=1", "optimizer.lr=0.0"], r".*val/loss did not improve .*: [\d.]+\."),
        (["+callbacks.early_stopping.stopping_threshold=100"], r"Stopping threshold reached: val/loss = [\d.]+ <.*"),
    ],
)
def test_early_stopping_is_reported(options: list[str], reason: str, tmp_path, capsys) -> None:
    train(tmp_path / "run", *OPTIONS, *options)
    output = capsys.readouterr().out
    assert "Epoch 1 of 3" in output and "Epoch 3 of 3" not in output
    assert re.search(rf"^Stopped early: {reason}$", output, re.M)


def test_the_log_file_contains_the_reason_of_a_failure(tmp_path: Path, log_file: Path) -> None:
    from heedful.base.errors import UserError

    with pytest.raises(UserError):
        train(tmp_path / "run", "callbacks=checkpoints", "optimizer=sgd", "optimizer.lr=1e30")
    assert re.search(r"Failed after .*: UserError: the loss became nan", log_file.read_text())


def test_in_a_terminal_the_lines_are_above_the_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    controller, follower = os.openpty()
    output = bytearray()

    def read() -> None:
        while True:
            try:
                output.extend(os.read(controller, 4096))
            except OSError:  # the terminal is closed
                return

    reader = threading.Thread(target=read)
    reader.start()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with open(follower, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        train(tmp_path / "run", *OPTIONS)
    reader.join()
    os.close(controller)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode())
    assert "Epoch 1/3" in text and "Epoch 3/3" in text and "━" in text
    assert "Epoch 0" not in text and "v_num" not in text
    assert re.search(r"Epoch 2/3.*val/acc:", text)
    lines = [line for line in re.split(r"[\r\n]+", text) if " of 3: " in line]
    assert len(lines) == 3
    for number, line in enumerate(lines, 1):
        assert re.match(EPOCH.format(number), line.rstrip()), line


def test_a_closed_pipe_does_not_end_the_training(tmp_path: Path) -> None:
    small = (*OPTIONS[:1], "trainer.max_epochs=1", "logger=csv", "hydra.run.dir=run")
    (python, *_), options = command(tmp_path, "train")
    complete([python, "-c", CLOSED_PIPE, *small], options)
    assert (tmp_path / "run" / "checkpoints" / "best.ckpt").exists()
    assert RunResult.load(tmp_path / "run").metrics
