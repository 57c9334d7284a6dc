"""`python -m benchmarks.speed` on a few reviews, and the measurement of memory."""

import json
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import command, implementation, memory, speed
from benchmarks.baselines import padded
from benchmarks.implementation import ImplementationProcess
from benchmarks.workloads import BARE, HEED, PACKED, PADDED, WORKLOADS


class ImplementationInThisProcess(AbstractContextManager[Any]):
    def __init__(self, job: dict[str, Any]) -> None:
        self.readers = implementation.readers(job)

    def ready(self) -> None:
        pass

    def read(self, name: str, reviews: int) -> float:
        return self.readers[name](reviews)

    def __exit__(self, *_: object) -> None:
        pass


def test_the_speed_of_all_implementations_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speed, "ImplementationProcess", ImplementationInThisProcess)
    monkeypatch.setattr(implementation, "reuse_freed_memory", lambda: None)
    peaks = {HEED: 7.0, PADDED: None, PACKED: 5.0, BARE: 3.0}
    monkeypatch.setattr(speed, "peaks", lambda *_: peaks)
    out = tmp_path / "out"
    speed.main(tmp_path, ["--works=bilstm", "--seconds=0.001", "--repeats=2", f"--out={out}"])
    record = json.loads((out / "speed.json").read_text())
    (workload,) = record["works"]
    assert (workload["work"], workload["title"]) == ("bilstm", "BiLSTM + Luong general")
    assert {row["name"]: row["peak_mb"] for row in workload["implementations"]} == peaks
    heed, *others = workload["implementations"]
    assert heed["name"] == HEED and heed["ratio"] is None
    for row in others:
        pairs = zip(heed["reviews_per_second"], row["reviews_per_second"], strict=True)
        assert row["ratio"] == [speed / other for speed, other in pairs]
        assert len(row["ratio"]) == 2
    assert (out / "speed.png").stat().st_size > 10_000
    output = capsys.readouterr().out
    assert "BiLSTM" in output and PACKED in output and "made-up reviews" in output


def test_every_workload_has_valid_components(tmp_path: Path) -> None:
    from benchmarks.heed import configuration
    from src.config.validation import validate_config

    for workload in WORKLOADS.values():
        validate_config(configuration([*workload.overrides, "data=imdb"], tmp_path, "cpu"))
        assert workload.implementations[0] == HEED
        for plain in workload.plain.values():
            assert plain.model(11)(torch.ones(2, 3, dtype=torch.long), torch.tensor([3, 3])).shape[0] == 2


def test_a_mistake_on_the_command_line_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--works=bilstm,lsmt"], "lsmt: choose from bilstm,"),
        (["--repeats=0"], "--seconds and --repeats must be above 0"),
        (["--hub", "--data-path=x"], "not allowed with argument --hub"),
    ):
        with pytest.raises(SystemExit):
            speed.parse_arguments(arguments)
        assert message in capsys.readouterr().err


def test_a_missing_folder_is_reported() -> None:
    with pytest.raises(SystemExit, match="no-such-folder"):
        command.start(lambda folder: speed.main(folder, ["--data-path=no-such-folder", "--works=rnn"]))


def test_an_interruption_is_reported_and_exits_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(folder: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as error:
        command.start(interrupt)
    assert error.value.code == 130 and "Interrupted" in capsys.readouterr().err


@pytest.fixture
def plain_job(tmp_path: Path) -> dict[str, Any]:
    """The job of a plain loop that trains an RNN on two reviews."""
    dataset, vocabulary = padded(["good film", "bad film"], torch.tensor([1, 0]), 3)
    rows = tmp_path / "rows.pt"
    torch.save({"columns": dataset.tensors, "vocabulary": vocabulary}, rows)
    return {"work": "rnn", "implementation": PADDED, "device": "cpu", "bf16": False, "rows": str(rows)}


@pytest.mark.skipif(not memory.STATUS.exists(), reason="memory is measured on Linux only")
def test_an_implementation_trains_in_a_separate_process_and_reports_its_memory(plain_job: dict[str, Any]) -> None:
    with ImplementationProcess(plain_job) as process:
        process.ready()
        assert process.read(PADDED, 2) > 0 and process.read(PADDED, 1) > 0
        record = process.used()
    assert "torch" in record["modules"] and "pytorch_lightning" not in record["modules"]
    megabytes = memory.above_imports(record)
    assert megabytes is not None
    assert 30_000 * 100 * 4 * 4 / 2**20 < megabytes < 400  # word vectors, their gradient, and the two moments of Adam


@pytest.mark.parametrize(("arguments", "bf16"), [([], False), (["--bf16"], True), (["--device=cuda"], True)])
def test_all_implementations_train_in_bf16_on_a_gpu_or_by_option(
    arguments: list[str],
    bf16: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(speed, "save_figure", lambda *_: None)
    options_of_jobs: dict[str, list[Any]] = {"bf16": [], "overrides": []}

    def speeds(name: str, jobs: dict[str, dict[str, Any]], options: Any) -> dict[str, list[float]]:
        for job in jobs.values():
            for key, values in options_of_jobs.items():
                values.append(job[key])
        return {implementation: [7.0] for implementation in jobs}

    monkeypatch.setattr(speed, "speeds", speeds)
    speed.main(tmp_path, [*arguments, "--works=rnn", "--quick", f"--out={tmp_path}"])
    assert options_of_jobs["bf16"] == [bf16, bf16]
    precision = "trainer.precision=bf16-mixed" if bf16 else "trainer.precision=32-true"
    assert all(precision in overrides for overrides in options_of_jobs["overrides"])
    assert ("in bf16" in capsys.readouterr().out) is bf16


def test_a_failed_implementation_ends_the_measurement(
    plain_job: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    with (
        ImplementationProcess({**plain_job, "rows": "no-such-file"}) as process,
        pytest.raises(subprocess.CalledProcessError),
    ):
        process.ready()
    assert "no-such-file" in capfd.readouterr().err
