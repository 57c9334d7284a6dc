"""Losses and metrics of training and evaluation, with one process and with two."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import cohen_kappa_score
from torchmetrics import MeanMetric

from src import build
from src.errors import UserError
from src.lit import LitClassifier, _total_steps
from src.run import Run
from tests.helpers import last_weights, one_batch, read_csv, run, saved_predictions, small_config, train


def last_values(folder: Path) -> dict[str, float]:
    """The last logged value of each metric."""
    rows = read_csv(folder / "csv" / "metrics.csv")
    return {name: float(value) for row in rows for name, value in row.items() if value}


def test_losses_are_means_over_texts_and_not_over_batches(tmp_path: Path) -> None:
    """The logged losses of a model with learning rate 0, over uneven batches, equal its losses over whole splits."""
    options = ["optimizer=sgd", "optimizer.lr=0.0", "data.batch_size=5", "trainer.max_epochs=1"]
    train(tmp_path / "run", *options, "callbacks=checkpoints", "test=false")
    path = str(tmp_path / "run" / "checkpoints" / "last.ckpt")
    cfg = small_config(tmp_path / "run", options)
    _, card, model, loss = build.restore(path, cfg.extras)
    data = build.datamodule(cfg, card.codec)
    model.eval()
    for split in ("train", "val"):
        batch = one_batch(data.codec, data.texts(split, range(data.sizes[split])), data.tokenized(split).labels)
        with torch.no_grad():
            logits = model(batch.tokens, batch.mask)
        assert last_values(tmp_path / "run")[f"{split}/loss"] == pytest.approx(
            loss(logits, batch.labels).item(), rel=1e-5
        )
        accuracy = (loss.probabilities(logits).argmax(1) == batch.labels).float().mean().item()
        assert last_values(tmp_path / "run")[f"{split}/acc"] == pytest.approx(accuracy, rel=1e-5)


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
    assert _total_steps(trainer) == steps


def test_a_second_training_of_the_same_module_logs_its_loss(tmp_path: Path) -> None:
    cfg = small_config(tmp_path / "run", ["trainer.max_epochs=1", "callbacks=none", "logger=none"])
    data = build.datamodule(cfg)
    module = build.module(cfg, Run(cfg).card(data))
    for _ in range(2):
        trainer = build.trainer(cfg)
        trainer.fit(module, data)
        assert {"train/loss", "train/acc", "val/loss"} <= trainer.callback_metrics.keys()


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


@pytest.mark.parametrize("callback", ["early_stopping", "best_checkpoint", "pruning"])
def test_monitoring_an_undefined_score_is_refused_before_training(callback: str, tmp_path: Path) -> None:
    overrides = [f"callbacks.{callback}.monitor=val/auroc", f"callbacks.{callback}.mode=max"]
    if callback == "pruning":
        options = {"journal": tmp_path / "journal", "trial": 0, "n_startup_trials": 1, "warmup": 1}
        options |= {"_target_": "src.callbacks.pruning.Pruning", "monitor": "val/auroc", "mode": "max"}
        overrides = [f"+callbacks.pruning.{name}={value}" for name, value in options.items()]
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


def test_two_processes_divide_the_texts_and_train_like_one_with_twice_the_batch_size(tmp_path: Path) -> None:
    kappa = "+metrics.kappa._target_=torchmetrics.classification.MulticlassCohenKappa"
    options = ("model.encoder.hidden_dim=6", "trainer.max_epochs=3", "logger=csv", "callbacks=checkpoints", kappa)
    train(tmp_path / "cpu", *options, "data.batch_size=14")  # 28 texts: two steps per epoch
    run(tmp_path, "train", *options, "trainer=ddp_sim", "data.batch_size=7", "hydra.run.dir=ddp_sim")
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


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(("batch", "batches", "reported"), [(0, 60, 1), (3, 60, 26), (25, 60, 26), (30, 41, 41)])
def test_a_loss_that_is_not_finite_stops_the_training(value: float, batch: int, batches: int, reported: int) -> None:
    """The batch that the message names is the last of those between two checks, or of the epoch."""
    progress = SimpleNamespace(is_last_batch=False)
    loop = SimpleNamespace(epoch_loop=SimpleNamespace(batch_progress=progress, done=False))
    trainer = SimpleNamespace(fit_loop=loop, global_step=0, max_steps=-1)
    metric = MeanMetric(nan_strategy="disable")
    module: Any = SimpleNamespace(train_loss=metric, trainer=trainer, current_epoch=2)

    def run_epoch(losses: list[float]) -> None:
        for number, loss in enumerate(losses):
            progress.is_last_batch = number == len(losses) - 1
            module.train_loss.update(torch.tensor(loss).expand(3))
            LitClassifier.on_train_batch_end(module, None, None, number)  # type: ignore[arg-type]

    run_epoch([1e30] * batches)
    losses = [0.5] * batches
    losses[batch] = value
    module.train_loss.reset()
    with pytest.raises(UserError, match=f"the loss became {value} by batch {reported} of epoch 3"):
        run_epoch(losses)
