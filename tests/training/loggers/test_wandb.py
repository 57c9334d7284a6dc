"""Offline W&B runs contain the results and the status of a run."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import open_dict, read_write

from docs.wandb_workspace import build
from heedful.base.errors import UserError
from heedful.config.compose import VERSION_BASE
from heedful.runs.result import RunResult, Score
from heedful.training.lit import LitClassifier
from heedful.training.loggers.wandb import Wandb, costs, scores
from tests.helpers import CONF, evaluate, one_class_data, read_csv, train
from tests.training.loggers.records import media_file, read_records, read_summary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of a sweep."""
    parent = tmp_path_factory.mktemp("wandb")
    rows = [f"film{i % 5} was {'good' if i % 2 else 'bad'},{'good' if i % 2 else 'bad'}" for i in range(41)]
    (parent / "reviews.csv").write_text("\n".join(["text,label", *rows]))
    data = ("data=csv", f"data.path={parent / 'reviews.csv'}", "data/tokenizer=whitespace", "data.batch_size=8")
    options = ("tags=[one,two]", "seed=5", "logger=[csv,wandb]", "callbacks.gradient_norms.every_n_steps=3")
    components = ("model/encoder=rnn", "model/attention=qkv", "model/pooling=max")
    job = parent / "sweep" / "3_seed-5"
    with under_hydra("train", job, RunMode.MULTIRUN, *data, *components):
        train(job, *data, *components, *options, draws="pictures")
    return job


@pytest.fixture(scope="module")
def log(folder: Path) -> dict[str, Any]:
    return read_summary(folder)


@contextmanager
def under_hydra(command: str, folder: Path, mode: RunMode, *overrides: str) -> Iterator[None]:
    """Set the state that Hydra sets for a job."""
    with initialize_config_dir(CONF, **VERSION_BASE):
        cfg = compose(command, list(overrides), return_hydra_config=True)
    with read_write(cfg), open_dict(cfg):
        cfg.hydra.runtime.output_dir, cfg.hydra.mode, cfg.hydra.job.name = str(folder), mode, command
    HydraConfig.instance().set_config(cfg)
    try:
        yield
    finally:
        HydraConfig.instance().cfg = None


def test_the_curves_equal_those_of_the_csv_file(folder: Path) -> None:
    csv_rows = read_csv(folder / "csv" / "metrics.csv")
    logged = [record["item"] for record in read_records(folder, "history")]
    names = {name for name in csv_rows[0] if "/" in name}
    assert {"train/loss", "train/acc", "val/loss", "val/f1_macro", "test/auroc", "test/ece"} <= names
    for name in names:
        expected = [float(row[name]) for row in csv_rows if row[name]]
        assert [point[name] for point in logged if name in point] == pytest.approx(expected), name


def test_gradient_norms_equal_those_of_their_file(folder: Path) -> None:
    norms = {
        (f"gradients/{row['part']}", int(row["step"])): float(row["norm"]) for row in read_csv(folder / "gradients.csv")
    }
    assert {name.split("/")[1] for name, _ in norms} == {"embedding", "encoder", "attention", "head"}
    assert len(norms) == 12
    logged = {
        (name, record["item"]["trainer/global_step"]): value
        for record in read_records(folder, "history")
        for name, value in record["item"].items()
        if name.startswith("gradients/")
    }
    assert logged.keys() == norms.keys()
    assert [logged[key] for key in norms] == pytest.approx(list(norms.values()), rel=1e-5)


def test_the_summary_contains_the_final_numbers(folder: Path, log: dict[str, Any]) -> None:
    summary, result = log["summary"], json.loads((folder / "result.json").read_text())
    assert len(result["metrics"]) == 20
    for name, metric in result["metrics"].items():
        values = (summary.get(name), summary.get(f"{name}_low"), summary.get(f"{name}_high"))
        assert values == pytest.approx((metric["value"], metric["low"], metric["high"])), name
        assert summary[f"{name.split('/')[0]}/n"] == metric["n"]
    assert summary["parameters/total"] == result["parameters"]["total"]
    assert summary["parameters/encoder"] == result["parameters"]["by_part"]["encoder"]
    assert summary["seconds/total"] == pytest.approx(result["seconds"]["total"])
    assert summary["seconds/epoch"] == pytest.approx(np.median(result["seconds"]["per_epoch"]))
    assert summary["texts_per_second"] == pytest.approx(result["texts_per_second"])
    assert summary["best/epoch"] == result["best"]["epoch"]
    assert summary["peak_memory_mb/process"] == pytest.approx(result["peak_memory_mb"]["process"])
    assert summary["best/value"] == pytest.approx(result["best"]["value"])
    assert (summary["status"], log["state"], log["exit_code"]) == ("completed", "finished", 0)


def test_the_run_has_configuration_variant_and_tags(log: dict[str, Any]) -> None:
    assert log["config"]["seed"] == 5
    assert log["config"]["model"]["encoder"]["hidden_dim"] == 6
    assert log["config"]["optimizer"]["_target_"] == "torch.optim.Adam"
    assert log["config"]["choices"]["attention"] == "qkv"
    assert "model/encoder=rnn" in log["config"]["overrides"]
    assert (log["config"]["variant"], log["project"]) == ("rnn · qkv", "heedful")
    assert log["tags"] == ["one", "two", "glove", "rnn", "qkv", "max"]


def test_all_pictures_and_pages_are_logged_unchanged(folder: Path, log: dict[str, Any]) -> None:
    files = {f"pictures/{path.stem}": path for path in (folder / "pictures").glob("*.png")}
    files |= {f"pages/{path.stem}": path for path in folder.glob("*.html")}
    names = ("curves", "gradients", "confusion", "reliability", "attention_position", "attention_entropy")
    assert {f"pictures/{name}" for name in names} | {"pages/page"} <= files.keys()
    assert {name for name in log["summary"] if name.startswith(("pictures/", "pages/"))} == files.keys()
    for name, path in files.items():
        assert media_file(folder, log["summary"][name]).read_bytes() == path.read_bytes(), name


def test_failures_are_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LitClassifier, "on_train_epoch_start", Mock(side_effect=UserError("the disk is full")))
    with pytest.raises(UserError, match="the disk is full"):
        train(tmp_path / "run", "logger=wandb", "callbacks=none")
    log = read_summary(tmp_path / "run")
    assert (log["summary"]["status"], log["state"], log["exit_code"]) == ("failed", "failed", 1)


def test_evaluations_have_configuration_variant_and_tags(folder: Path, tmp_path: Path) -> None:
    with under_hydra("eval", tmp_path / "run", RunMode.RUN, "ckpt_path=unused"):
        evaluate(tmp_path / "run", folder / "checkpoints" / "best.ckpt", "logger=wandb")
    run, log = read_records(tmp_path / "run", "run")[0], read_summary(tmp_path / "run")
    assert (run.get("run_group"), run["job_type"], run["display_name"]) == (None, "eval", "run")
    assert log["tags"] == ["dev", "glove", "rnn", "qkv", "max"]
    assert log["config"]["variant"] == "rnn · qkv"
    assert log["config"]["choices"]["data"] == "csv"
    assert log["summary"]["of_encoder/rnn"] == log["summary"]["test/acc"]


def test_runs_log_the_keys_of_the_dashboard(folder: Path, log: dict[str, Any]) -> None:
    """The run logs all metrics, options, tables and pictures of the panels, except those that it does not produce."""
    workspace = build("us", "heedful")
    requested = [panel._to_model().config for section in workspace.sections for panel in section.panels]
    spec = json.loads(workspace._to_model().spec.model_dump_json(by_alias=True, exclude_none=True))
    panels = [
        panel["config"] for section in spec["section"]["panelBankConfig"]["sections"] for panel in section["panels"]
    ]
    assert len(panels) == len(requested) > 20
    metrics, options = set(), set()
    for panel in panels:
        metrics |= {*panel.get("metrics", ()), *panel.get("mediaKeys", ()), panel.get("targetKey", "test/acc")}
        places = [panel[axis] for axis in ("xAxis", "yAxis") if ":" in panel.get(axis, "")]
        for place in places + [column["accessor"] for column in panel.get("columns", ())]:
            kind, _, name = place.partition(":")
            (options if kind == "config" else metrics).add(name)
        options |= {panel["groupBy"]} if "groupBy" in panel else set()
    for option in options:
        node: Any = log["config"]
        for key in option.replace(".value", "", 1).split("."):
            node = node[key]
    logged = {*log["summary"], *(name for record in read_records(folder, "history") for name in record["item"])}
    missing = {name for name in metrics - logged if not name.startswith("of_encoder/")}
    assert missing == {"gradients/position", "gradients/pooling"}
    assert {"of_encoder/rnn", "gradients/encoder"} <= metrics
    assert {"variant.value", "choices.value.attention", "choices.value.pooling"} <= options


def test_undefined_numbers_are_omitted() -> None:
    metrics = {"test/acc": Score(0.5, 0.25, 0.75, 8), "test/auroc": Score(None, None, None, 8)}
    numbers = {"test/acc": 0.5, "test/acc_low": 0.25, "test/acc_high": 0.75, "test/n": 8, "of_encoder/gru": 0.5}
    assert scores(RunResult(metrics=metrics, choices={"encoder": "gru"})) == numbers
    assert costs(RunResult()) == {}


@pytest.mark.parametrize(("mode", "offline"), [("online", True), (None, False)])
def test_an_online_run_without_an_account_is_refused_before_data_are_read(mode, offline, tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("WANDB_MODE")
    if mode:
        monkeypatch.setenv("WANDB_MODE", mode)
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with pytest.raises(UserError, match="needs a W&B account: run `wandb login`"):
        train(tmp_path / "run", "logger=wandb", f"logger.wandb.offline={offline}", *one_class_data(tmp_path))
    assert not (tmp_path / "run" / "wandb").exists()


def test_a_run_leaves_no_false_module_of_wandb(folder: Path) -> None:
    assert all(isinstance(module, ModuleType) for name, module in sys.modules.items() if name.startswith("wandb"))


def test_offline_runs_upload_no_checkpoints() -> None:
    with pytest.raises(ValueError, match="log_model needs an online run: offline=false"):
        Wandb(log_model="all")
