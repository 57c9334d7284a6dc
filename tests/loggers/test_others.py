"""TensorBoard and MLflow log the results of a run."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

import src.loggers
from src.config.validation import validate_config
from src.errors import UserError
from tests.helpers import ROOT, one_class_data, small_config, train

OPTIONS = ("callbacks=[checkpoints,gradient_norms]", "model/encoder=rnn", "tags=[one,two]")


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    pytest.importorskip("mlflow.tracking")
    pytest.importorskip("tensorboard")


def uri(folder: Path) -> str:
    return f"sqlite:///{folder / 'mlflow.db'}"


def mlflow_options(folder: Path) -> tuple[str, str]:
    return f"logger.mlflow.tracking_uri='{uri(folder)}'", "logger.mlflow.run_name=mine"


def read_mlflow_runs(folder: Path) -> tuple[Any, list[Any]]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri(folder))
    return client, client.search_runs([client.get_experiment_by_name("heed").experiment_id])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both") / "run"
    train(folder, "logger=[csv,tensorboard,mlflow]", *OPTIONS, *mlflow_options(folder.parent), draws=True)
    return folder


@pytest.fixture(scope="module")
def result(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text())


@pytest.fixture(scope="module")
def events(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder / "tensorboard"), size_guidance={"images": 0})
    return accumulator.Reload()


def norms(folder: Path, part: str) -> list[tuple[int, float]]:
    lines = [line.split(",") for line in (folder / "gradients.csv").read_text().splitlines()]
    return [(int(step), float(norm)) for step, name, norm in lines[1:] if name == part]


def test_tensorboard_contains_metrics_and_gradient_norms(folder: Path, result: dict[str, Any], events: Any) -> None:
    accuracy = [point.value for point in events.Scalars("val/acc")]
    assert len(accuracy) > 2
    assert events.Scalars("test/acc_low")[0].value == pytest.approx(result["metrics"]["test/acc"]["low"])
    logged_norms = [(point.step, point.value) for point in events.Scalars("gradients/encoder")]
    assert logged_norms == [(step, pytest.approx(norm, rel=1e-5)) for step, norm in norms(folder, "encoder")]


def test_tensorboard_contains_the_pictures(folder: Path, events: Any) -> None:
    pictures = {f"pictures/{path.stem}": path for path in (folder / "pictures").glob("*.png")}
    assert set(events.Tags()["images"]) == pictures.keys() != set()
    for name, path in pictures.items():
        (image,) = events.Images(name)
        picture = imread(path)
        assert (image.height, image.width) == picture.shape[:2]
        copy = folder.parent / "copy.png"
        copy.write_bytes(image.encoded_image_string)
        assert np.abs(imread(copy) - picture).max() < 1 / 128, name


def test_tensorboard_contains_the_hyperparameters(events: Any) -> None:
    from tensorboard.plugins.hparams import metadata

    content = events.summary_metadata[metadata.SESSION_START_INFO_TAG].plugin_data.content
    hyperparameters = metadata.parse_session_start_info_plugin_data(content).hparams
    assert hyperparameters["model/encoder/hidden_dim"].number_value == 6
    assert hyperparameters["status"].string_value == "completed"


def test_mlflow_contains_all_results(folder: Path, result: dict[str, Any]) -> None:
    client, (run,) = read_mlflow_runs(folder.parent)
    assert (run.info.status, run.info.run_name, run.data.tags["tags"]) == ("FINISHED", "mine", "one, two")
    assert run.data.params["model/encoder/hidden_dim"] == "6"
    for name, metric in result["metrics"].items():
        assert run.data.metrics[name] == pytest.approx(metric["value"]), name
    assert run.data.metrics["test/acc_high"] == pytest.approx(result["metrics"]["test/acc"]["high"])
    assert run.data.metrics["parameters/total"] == result["parameters"]["total"]
    logged_norms = [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, "gradients/head")]
    assert logged_norms == [(step, pytest.approx(norm, rel=1e-5)) for step, norm in norms(folder, "head")]
    for kind, source in (("pictures", folder / "pictures"), ("pages", folder)):
        for item in client.list_artifacts(run.info.run_id, kind):
            path = folder.parent / "mlflow" / run.info.run_id / "artifacts" / item.path
            assert path.read_bytes() == (source / path.name).read_bytes()
    pictures = {f"pictures/{path.name}" for path in (folder / "pictures").iterdir()}
    assert {item.path for item in client.list_artifacts(run.info.run_id, "pictures")} == pictures


def test_an_unwritable_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"logger\.mlflow: tracking_uri=.* cannot be written to .*file is not a folder"):
        train(tmp_path / "run", "logger=mlflow", f"logger.mlflow.tracking_uri='{uri(tmp_path / 'file')}'")


def test_failures_are_logged(folder: Path, tmp_path: Path) -> None:
    options = ("callbacks=none", *one_class_data(tmp_path))
    with pytest.raises(UserError, match=r"one_class\.csv"):
        train(tmp_path / "run", "logger=[tensorboard,mlflow]", *options, *mlflow_options(folder.parent))
    _, runs = read_mlflow_runs(folder.parent)
    assert sorted(run.info.status for run in runs) == ["FAILED", "FINISHED"]
    assert "status: failed" in (tmp_path / "run" / "tensorboard" / "hparams.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "package"), [("tensorboard", "tensorboard"), ("mlflow", "mlflow"), ("mlflow", "alembic")]
)
def test_missing_packages_are_reported_before_the_run(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"src.loggers.{name}", raising=False)
    monkeypatch.delattr(src.loggers, name, raising=False)
    reason = rf"logger={name} needs the package {package}, which is part of heed\[{name}\]"
    message = rf"{reason}: .* run pip install .*'\.\[{name}\]'"
    with pytest.raises(UserError, match=message):
        validate_config(small_config(Path("unused"), [f"logger=[csv,{name}]"]))


@pytest.mark.parametrize("name", ["tensorboard", "mlflow"])
def test_extras_install_the_required_packages(name: str) -> None:
    """mlflow-skinny does not install sqlalchemy and alembic, which its database requires."""
    extra = next(line for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith(f"{name} = ["))
    (required,) = re.findall(
        r"^require_extra\((.*?), by=", (ROOT / "src" / "loggers" / f"{name}.py").read_text(), re.MULTILINE
    )
    for package in re.findall(r'"(\w+)"', required):
        assert re.search(rf'"{package}(-skinny)?>=', extra), package
