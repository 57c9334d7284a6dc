"""Runs are logged to CSV files, TensorBoard and MLflow."""

from pathlib import Path
from typing import Any

import pytest

from heedful.training.loggers.csv import Metrics
from heedful.training.loggers.options import with_plain_names
from tests.helpers import evaluate, read_csv, train

CALLBACKS = "callbacks=[checkpoints,gradient_norms]"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_contains_scores_and_gradient_norms(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(tmp_path, "logger=[csv,tensorboard]", CALLBACKS)
    accuracy = [float(row["val/acc"]) for row in read_csv(tmp_path / "csv" / "metrics.csv") if row["val/acc"]]
    assert len(accuracy) == 2  # one point for each epoch
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [point.value for point in events.Scalars("val/acc")] == pytest.approx(accuracy)
    norms = [float(row["norm"]) for row in read_csv(tmp_path / "gradients.csv") if row["part"] == "head"]
    assert norms and [point.value for point in events.Scalars("gradients/head")] == pytest.approx(norms, rel=1e-5)


@pytest.mark.weekly  # to create a database takes seconds
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_mlflow_contains_options_scores_and_gradient_norms(tmp_path: Path) -> None:
    pytest.importorskip("mlflow.tracking")
    from mlflow.tracking import MlflowClient

    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    train(tmp_path / "run", "logger=[csv,mlflow]", CALLBACKS, f"logger.mlflow.tracking_uri='{uri}'")
    client = MlflowClient(uri)
    (run,) = client.search_runs([client.get_experiment_by_name("heedful").experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["model/encoder/hidden_dim"] == "6"
    rows = read_csv(tmp_path / "run" / "csv" / "metrics.csv")
    assert run.data.metrics["test/acc"] == pytest.approx(float(rows[-1]["test/acc"]))
    norms = [float(row["norm"]) for row in read_csv(tmp_path / "run" / "gradients.csv") if row["part"] == "head"]
    history = client.get_metric_history(run.info.run_id, "gradients/head")
    assert norms and [point.value for point in history] == pytest.approx(norms, rel=1e-5)


def test_a_training_and_an_evaluation_log_their_options_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = list[dict[str, Any]]()
    monkeypatch.setattr(Metrics, "log_hyperparams", lambda _, params: logged.append(params))
    train(tmp_path / "run", "logger=csv")
    evaluate(tmp_path / "eval", tmp_path / "run" / "checkpoints" / "best.ckpt", "logger=csv")
    training, evaluation = logged
    assert training["model"]["encoder"]["hidden_dim"] == 6 and training["trainer"]["max_epochs"] == 2
    assert evaluation["ckpt_path"].endswith("best.ckpt")


def test_a_mapping_whose_keys_cannot_be_names_is_logged_as_one_value() -> None:
    labels = {"C++": "cpp", "R&D": "größer", "x": None}
    config = {"data": {"labels": labels, "text": "C++"}, "a.b-1": {3: [labels]}, "model": {"x" * 51: 1}}
    assert with_plain_names(config) == {
        "data": {"labels": '{"C++": "cpp", "R&D": "größer", "x": null}', "text": "C++"},
        "a.b-1": {3: [labels]},
        "model": f'{{"{"x" * 51}": 1}}',
    }


def test_a_csv_file_is_continued_also_with_new_columns(tmp_path: Path) -> None:
    def log(*metrics: dict[str, Any]) -> None:
        logger = Metrics(tmp_path, name="csv", version="")
        for step, values in enumerate(metrics):
            logger.log_metrics(values, step)
        logger.save()

    log({"b": 1.5}, {"b": 2.5})
    log({"b": 3.5}, {"a": 4.5})
    lines = (tmp_path / "csv" / "metrics.csv").read_text().split()
    assert lines == ["a,b,step", ",1.5,0", ",2.5,1", ",3.5,0", "4.5,,1"]
