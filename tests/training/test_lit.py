"""Losses and metrics of training and evaluation, with one process and with two."""

import json
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments.lightning import find_free_network_port
from sklearn.metrics import cohen_kappa_score

from heedful.base.errors import UserError
from heedful.runs.run_files import read_history
from heedful.runs.training_state import restore_training_state
from heedful.training import build
from heedful.training.lit import LitClassifier, RunningMean
from tests.forks import Fork
from tests.helpers import (
    assert_equal_weights,
    command,
    last_weights,
    read_csv,
    saved_predictions,
    small_config,
    train,
)


def last_values(folder: Path) -> dict[str, float]:
    """The last logged value of each metric."""
    rows = read_csv(folder / "csv" / "metrics.csv")
    return {name: float(value) for row in rows for name, value in row.items() if value}


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, 7 * 5),
        ({"accumulate_grad_batches": 3}, 3 * 5),
        ({"limit_train_batches": 2}, 2 * 5),
        ({"limit_train_batches": 0.5}, 3 * 5),
        ({"max_steps": 11}, 11),
    ],
)
def test_the_total_number_of_steps_follows_the_trainer_options(options: dict[str, Any], steps: int) -> None:
    defaults = {"limit_train_batches": 1.0, "accumulate_grad_batches": 1, "max_epochs": 5, "max_steps": -1}
    loader = SimpleNamespace(train_dataloader=lambda: range(7))
    trainer: Any = SimpleNamespace(**{**defaults, **options}, datamodule=loader)
    assert build.total_steps(trainer) == steps


def test_a_second_training_of_the_same_module_logs_its_loss(tmp_path: Path) -> None:
    cfg = small_config(tmp_path / "run", ["trainer.max_epochs=1", "callbacks=none", "logger=none"])
    data = build.datamodule(cfg)
    module = LitClassifier.from_config(cfg, data)
    for _ in range(2):
        trainer = build.trainer(cfg)
        trainer.fit(module, data)
        assert {"train/loss", "train/acc", "val/loss"} <= trainer.callback_metrics.keys()


class LogsIndex(pl.Callback):
    """Logs the number of each batch of an epoch."""

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        pl_module.log("train/number", torch.tensor(float(args[2])), on_epoch=True, on_step=False)

    def on_validation_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        pl_module.log_dict({"val/number": float(args[2])})


def test_what_a_callback_logs_is_weighted_by_the_texts_of_a_batch(tmp_path: Path) -> None:
    options = ["trainer.max_epochs=1", "callbacks=none", "logger=none", "data.batch_size=19"]
    cfg = small_config(tmp_path / "run", options)
    data = build.datamodule(cfg)
    trainer = build.trainer(cfg, [LogsIndex()])
    trainer.fit(LitClassifier.from_config(cfg, data), data)
    for split, loader in (("train", data.train_dataloader()), ("val", data.val_dataloader())):
        sizes = np.array([len(batch.index) for batch in loader])
        assert trainer.callback_metrics[f"{split}/number"] == pytest.approx(
            np.average(range(len(sizes)), weights=sizes)
        )


def without_a_class(folder: Path) -> list[str]:
    """Overrides for files of three classes, of which the validation file has two, and the test file one."""
    folder.mkdir(exist_ok=True)
    for name, classes in (("train", "abc"), ("val", "ab"), ("test", "c")):
        rows = [f"{word} {label} {number},{label}" for number, word in enumerate(("bad", "good")) for label in classes]
        (folder / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    return ["data=csv", *(f"data.{key}='{folder / name}.csv'" for key, name in FILES.items())]


FILES = {"path": "train", "val_path": "val", "test_path": "test"}


def test_an_undefined_score_is_not_logged_and_null_in_the_result(tmp_path: Path) -> None:
    result = train(tmp_path / "run", *without_a_class(tmp_path / "data"), "callbacks=checkpoints")
    logged = last_values(tmp_path / "run")
    assert {"val/acc", "val/f1_macro", "test/ece"} <= logged.keys()
    assert not {"val/auroc", "test/auroc"} & logged.keys()
    assert result["metrics"]["test/auroc"]["value"] is None and result["metrics"]["val/auroc"]["value"] is None


def test_monitoring_an_undefined_score_is_refused_before_training(tmp_path: Path) -> None:
    overrides = ["callbacks.best_checkpoint.monitor=val/auroc", "callbacks.best_checkpoint.mode=max"]
    message = "val/auroc is monitored, but it is undefined, because no validation text has the class c: monitor another"
    with pytest.raises(UserError, match=message):
        train(tmp_path / "run", *without_a_class(tmp_path / "data"), *overrides)
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_monitoring_a_metric_that_turns_out_undefined_ends_the_training(tmp_path: Path) -> None:
    """The score is defined on all validation texts, but not on the first batch, which has a single text."""
    limits = ["data.batch_size=1", "+trainer.limit_val_batches=1"]
    with pytest.raises(UserError, match="val/auroc is monitored, but it is undefined, because no validation text has"):
        monitor = ["callbacks.early_stopping.monitor=val/auroc", "callbacks.early_stopping.mode=max"]
        train(tmp_path / "run", *limits, *monitor)


AS_RANK = """
import os, runpy
from lightning_utilities.core.rank_zero import rank_zero_only
rank_zero_only.rank = int(os.environ["LOCAL_RANK"])  # as the import sets it in a new interpreter
runpy.run_module("src.train", run_name="__main__", alter_sys=True)
"""


def train_in_two_processes(folder: Path, *arguments: str, code: int = 0) -> None:
    """Start both processes, as Lightning starts the second (tests/sweep); the first ends with an exit code."""
    port = {"MASTER_PORT": str(find_free_network_port())}
    forks = []
    for rank, more in (("0", ()), ("1", ("hydra.output_subdir=null", "hydra.job.name=train_ddp_process_1"))):
        (python, *_), options = command(folder, "train")
        line = [python, "-c", AS_RANK, "trainer=ddp_sim", *arguments, *more]
        forks.append(Fork(line, options | {"env": options["env"] | port | {"LOCAL_RANK": rank}}))
    (_, errors), _ = [fork.communicate() for fork in forks]
    assert forks[0].returncode == code, errors


def test_two_processes_divide_the_texts_and_train_like_one_with_twice_the_batch_size(tmp_path: Path) -> None:
    kappa = "+metrics.kappa._target_=torchmetrics.classification.MulticlassCohenKappa"
    options = ("model.encoder.hidden_dim=6", "trainer.max_epochs=3", "logger=csv", "callbacks=checkpoints", kappa)
    train(tmp_path / "cpu", *options, "data.batch_size=14")  # 28 texts: two steps per epoch
    train_in_two_processes(tmp_path, *options, "data.batch_size=7", "hydra.run.dir=ddp_sim")
    result = json.loads((tmp_path / "ddp_sim" / "result.json").read_text())
    assert result["status"] == "completed"
    for split, texts in (("val", 3), ("test", 8)):  # one of three texts is in the batches of both processes
        predictions = saved_predictions(tmp_path / "ddp_sim", split)
        assert predictions.index.tolist() == list(range(texts))
        accuracy = (predictions.probabilities.argmax(1) == predictions.labels).mean()
        assert result["metrics"][f"{split}/acc"]["value"] == pytest.approx(accuracy)
        assert result["metrics"][f"{split}/acc"]["n"] == texts
        assert last_values(tmp_path / "ddp_sim")[f"{split}/acc"] == pytest.approx(accuracy)
        logged = last_values(tmp_path / "ddp_sim")[f"{split}/kappa"]
        predicted = predictions.probabilities.argmax(1)
        assert logged == pytest.approx(cohen_kappa_score(predictions.labels, predicted))
    single, distributed = (
        {
            **last_weights(tmp_path / name),
            "probabilities": saved_predictions(tmp_path / name).probabilities,
            "losses": [value for key, value in sorted(last_values(tmp_path / name).items()) if key.endswith("/loss")],
        }
        for name in ("cpu", "ddp_sim")
    )
    assert single.keys() == distributed.keys()
    for name, value in single.items():
        np.testing.assert_allclose(value, distributed[name], rtol=1e-4, atol=1e-5, err_msg=name)


STOPPER = """
import os, signal
from pytorch_lightning import Callback

class Stopper(Callback):
    def on_train_batch_start(self, trainer, *args):
        if trainer.global_rank == 1 and trainer.global_step == 4:
            os.kill(os.getpid(), signal.SIGTERM)
"""


def test_two_processes_stop_after_a_signal_to_one_of_them_and_resume_exactly(tmp_path: Path) -> None:
    (tmp_path / "stopper.py").write_text(STOPPER)
    options = ["model.encoder.hidden_dim=6", "model.embedding.dropout=0.3", "trainer.max_epochs=2", "logger=csv"]
    options += ["callbacks=checkpoints", "data.batch_size=5", "test=false"]
    stops = ["extras.trusted_modules=[stopper]", "+callbacks.stopper={_target_: stopper.Stopper}"]
    train_in_two_processes(tmp_path, *options, "hydra.run.dir=whole")  # three steps per epoch
    train_in_two_processes(tmp_path, *options, *stops, "hydra.run.dir=half", code=128 + signal.SIGTERM)
    last = tmp_path / "half" / "checkpoints" / "last.ckpt"
    content = torch.load(last, weights_only=True)
    assert content["global_step"] == 5
    first, second = content["processes"]
    assert first["running"]["loss"]["total"] != second["running"]["loss"]["total"]
    train_in_two_processes(tmp_path, f"ckpt_path={last}")
    assert_equal_weights(tmp_path / "whole", tmp_path / "half")
    assert read_history(tmp_path / "whole") == read_history(tmp_path / "half")


@pytest.mark.parametrize(("rank", "restored"), [(0, 0), (1, 1), (2, 0)])
def test_each_process_restores_its_own_random_state(rank: int, restored: int) -> None:
    """A third process, which has no state, repeats the random numbers of the first."""
    seeds = (11, 13)
    states = [{"cpu": torch.manual_seed(seed).get_state(), "running": {}} for seed in seeds]
    checkpoint = {"callbacks": {}, "optimizer_states": [], "processes": states, "should_stop": False}
    strategy = SimpleNamespace(root_device=torch.device("cpu"))
    trainer: Any = SimpleNamespace(callbacks=[], fit_loop=SimpleNamespace(), global_rank=rank, strategy=strategy)
    restore_training_state(checkpoint, trainer, means={})
    assert torch.initial_seed() == seeds[restored]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(("batch", "batches", "reported"), [(0, 60, 1), (3, 60, 26), (25, 60, 26), (30, 41, 41)])
def test_a_loss_that_is_not_finite_stops_the_training(value: float, batch: int, batches: int, reported: int) -> None:
    """The batch that the message names is the last of those between two checks, or of the epoch."""
    progress = SimpleNamespace(is_last_batch=False)
    loop = SimpleNamespace(epoch_loop=SimpleNamespace(batch_progress=progress, done=False))
    strategy = SimpleNamespace(reduce=lambda value: value)
    trainer = SimpleNamespace(fit_loop=loop, global_step=0, max_steps=-1, strategy=strategy, is_global_zero=True)
    module: Any = SimpleNamespace(means={"loss": RunningMean()}, trainer=trainer, current_epoch=2, _losses_to_check=[])

    def run_epoch(losses: list[float]) -> None:
        for number, loss in enumerate(losses):
            progress.is_last_batch = number == len(losses) - 1
            module.means["loss"].update(torch.tensor(loss), 3)
            LitClassifier.on_train_batch_end(module, None, None, number)  # type: ignore[arg-type]

    run_epoch([1e30] * batches)
    losses = [0.5] * batches
    losses[batch] = value
    module.means["loss"].reset()
    with pytest.raises(UserError, match=f"the loss became {value} by batch {reported} of epoch 3"):
        run_epoch(losses)
