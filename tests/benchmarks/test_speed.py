"""`python -m benchmarks.speed` on a few reviews."""

import json
import os
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import command, implementation, speed
from benchmarks.implementation import Job
from benchmarks.speed import COMPETENT, HEEDFUL, WORKLOADS


class SameProcess(Executor):
    """An executor that trains the implementation of a job in this process."""

    def __init__(self, job: Job) -> None:
        self.read = implementation.create_reader(job)

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(self.read(*args))
        return future


def test_the_speed_of_all_implementations_is_measured(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(implementation, "start", SameProcess)
    monkeypatch.setattr(implementation, "reuse_freed_memory", lambda: None)
    speed.main(tmp_path, ["--works=rnn", "--seconds=0.001", "--repeats=2", "--batch-size=8,32", f"--out={tmp_path}"])
    workload, larger = json.loads((tmp_path / "speed.json").read_text())["works"]
    assert (workload["batch_size"], larger["batch_size"]) == (8, 32)
    heedful, *others = workload["implementations"]
    assert heedful["name"] == HEEDFUL and "ratio" not in heedful
    assert [row["name"] for row in others] == [COMPETENT, "padded to 500"]
    for row in others:
        pairs = zip(heedful["reviews_per_second"], row["reviews_per_second"], strict=True)
        assert row["ratio"] == [speed / other for speed, other in pairs]
        assert len(row["ratio"]) == 2
    output = capsys.readouterr().out
    assert "RNN" in output and COMPETENT in output and "made-up reviews" in output


@pytest.mark.weekly  # imports torch and Lightning in a new interpreter
def test_an_implementation_trains_in_a_process_of_its_own() -> None:
    texts, labels = [torch.tensor([2, 3]), torch.tensor([4])], torch.tensor([0, 1])
    job = Job(WORKLOADS["rnn"].loops[0], [], Path(), "cpu", False, False, 2, texts, labels, 7)
    with implementation.start(job) as process:
        assert process.submit(implementation.train, 2).result() > 0
        assert process.submit(os.getpid).result() != os.getpid()


def test_a_mistake_on_the_command_line_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--works=bilstm,lsmt"], "lsmt: choose from bilstm,"),
        (["--repeats=0"], "--seconds and --repeats must be above 0"),
        (["--hub", "--data-path=x"], "not allowed with argument --hub"),
        (["--batch-size=32,0"], "32,0: must be numbers above 0"),
        (["--graphs=off,on"], "--graphs=on needs --device=cuda"),
    ):
        with pytest.raises(SystemExit):
            speed.parse_arguments(arguments)
        assert message in capsys.readouterr().err


def test_a_missing_folder_and_an_interruption_end_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="no-such-folder"):
        command.start(partial(speed.main, arguments=["--data-path=no-such-folder", "--works=rnn"]))

    def interrupt(folder: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as error:
        command.start(interrupt)
    assert error.value.code == 130 and "Interrupted" in capsys.readouterr().err
