"""`python -m benchmarks.costs`: each measurement on small data, and the probe in a training."""

import io
import json
from pathlib import Path

import pytest

from benchmarks import costs, reviews, tokenizing
from src.errors import UserError
from tests.helpers import train


def test_evaluation_and_prediction_are_compared_with_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MODEL", ("experiment=twenty_variants", "model/encoder=rnn"))
    out = tmp_path / "out"
    costs.main(tmp_path, ["--only=steps", "--seconds=0.001", "--repeats=1", f"--out={out}"])
    steps = json.loads((out / "costs.json").read_text())["costs"]["steps"]
    (training,) = steps["training, reviews/s"]
    for name in ("evaluation", "prediction"):
        assert steps[f"{name} over training"] == [steps[f"{name}, reviews/s"][0] / training]


def test_the_probe_records_a_training(tmp_path: Path) -> None:
    path = tmp_path / "probe.json"
    probe = ("+callbacks.probe._target_=benchmarks.probe.Probe", f"+callbacks.probe.path='{path}'")
    result = train(tmp_path / "run", *probe, "extras.trusted_modules=[benchmarks]", "test=false")
    record = json.loads(path.read_text())
    assert record["cpu_seconds"] > 0
    assert len(record["epochs"]) == 2
    assert sum(record["epochs"]) == pytest.approx(result["seconds"]["fit"], rel=0.5)
    assert "torch" in record["modules"]
    assert record["peak"] is None or record["peak"] > 100


def test_tokenizing_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    overrides = [*costs.MODEL, "data=imdb", *reviews.overrides(None, False, tmp_path, 41, 7)]
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"overrides": overrides, "folder": str(tmp_path)})))
    tokenizing.main()
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["seconds"] > 0 and record["cpu_seconds"] > 0
    assert list((tmp_path / "cache").glob("*.npz"))


def test_each_measurement_reports_the_costs_of_trainings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def training(overrides: list[str], folder: Path) -> dict[str, object]:
        calls.append(overrides)
        return {"cpu_seconds": float(len(calls)), "peak": 700.0, "modules": [], "epochs": [1.0]}

    monkeypatch.setattr(costs, "training", training)
    monkeypatch.setattr(costs.memory, "run", lambda module, job: {"seconds": 2.0} if job else 300.0)
    costs.main(tmp_path, ["--only=tokenizing,start,memory", "--repeats=3", f"--out={tmp_path}"])
    record = json.loads((tmp_path / "costs.json").read_text())["costs"]
    assert record == {
        "tokenizing": {"first time, s": [2.0] * 3, "cached, s": [2.0] * 3},
        "start": {"to the first training step, CPU s": [2.0, 3.0, 4.0]},  # the first run also tokenized
        "memory": {"peak above the imports, MB": [400.0]},
    }
    assert "+trainer.limit_train_batches=1" not in calls[-1]  # a whole epoch


def test_a_failed_training_reports_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such option >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    with pytest.raises(UserError, match="no such option"):
        costs.training([], tmp_path)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # from torch's Adagrad
def test_optimizers_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "ROWS", 101)
    out = tmp_path / "out"
    costs.main(tmp_path, ["--only=optimizer", "--seconds=0.001", "--repeats=1", f"--out={out}"])
    steps = json.loads((out / "costs.json").read_text())["costs"]["optimizer"]
    assert steps["Heed over torch"] == [pytest.approx(steps["torch, ms"][0] / steps["Heed, ms"][0])]
