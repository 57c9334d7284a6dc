"""Whole trainings on the GPU: they resume exactly, and what they save works on the CPU."""

import os
import signal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import pytorch_lightning as pl
import torch

from heedful import load
from heedful.base.process import Interrupted
from heedful.runs.run_files import read_history
from heedful.training.callbacks.gradients import GradientNorms
from heedful.training.callbacks.graphs import GraphedSteps
from heedful.training.callbacks.stop import StopOnSignal
from tests.helpers import assert_equal_weights, last_weights, saved_predictions, train
from tests.training import kinds
from tests.training.test_script import make
from tests.training.test_script import trainer as new_trainer

OPTIONS = ("callbacks=[checkpoints,gradient_norms,graphs]", "data.batch_size=5", "model.embedding.dropout=0.3")
SINGLE = "trainer.precision=32-true"
# Adam would enlarge rounding errors: it scales the smallest gradient to a whole step
SGD = (*OPTIONS[:2], SINGLE, "optimizer=sgd", "optimizer.lr=0.1")


def train_interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """Train two epochs of six steps; Ctrl-C ends the training within the second one, from where it resumes."""

    def interrupt(self: StopOnSignal, trainer: Any, *args: Any) -> None:
        if trainer.global_step == 8:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as context, pytest.raises(Interrupted):
        context.setattr(StopOnSignal, "on_train_batch_start", interrupt)
        train(folder, *options)
    last = folder / "checkpoints" / "last.ckpt"
    assert torch.load(last, weights_only=True)["global_step"] == 9
    train(folder, *options, f"ckpt_path='{last}'")


def assert_same_training(first: Path, second: Path) -> None:
    assert_equal_weights(first, second)
    assert read_history(first) == read_history(second)
    assert (first / "gradients.csv").read_text() == (second / "gradients.csv").read_text()


def assert_near(first: Path, second: Path) -> None:
    weights = last_weights(second)
    for name, value in last_weights(first).items():
        torch.testing.assert_close(weights[name].cpu(), value.cpu(), rtol=1e-3, atol=1e-4)
    probabilities = [saved_predictions(folder).probabilities for folder in (first, second)]
    np.testing.assert_allclose(*probabilities, atol=1e-4)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("precision", ["null", "32-true"])
def test_a_deterministic_training_resumes_within_an_epoch_with_the_same_losses(
    precision: str, trainer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = (*OPTIONS, trainer, f"trainer.precision={precision}", "trainer.deterministic=true")
    train(tmp_path / "whole", *options)
    train_interrupted(tmp_path / "resumed", monkeypatch, *options)
    assert_same_training(tmp_path / "whole", tmp_path / "resumed")


@pytest.mark.parametrize("kind", [None, *kinds.KINDS])
def test_a_training_in_single_precision_is_that_of_the_cpu(kind: str | None, trainer: str, tmp_path: Path) -> None:
    options = (*SGD, *(kinds.options(kind, tmp_path) if kind else ()))
    train(tmp_path / "cpu", *options)
    train(tmp_path / "gpu", *options, trainer)
    assert_near(tmp_path / "cpu", tmp_path / "gpu")


class Strict(pl.Callback):
    """Within an epoch, after its first step, raises an error where the host waits for the GPU."""

    steps = 0

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, index: int) -> None:
        torch.cuda.set_sync_debug_mode("error" if index else "default")

    def on_train_batch_end(self, trainer: pl.Trainer, *args: Any) -> None:
        self.steps += torch.cuda.get_sync_debug_mode() == 2
        if trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_no_line_within_an_epoch_waits_for_the_gpu(kind: str, device: str, tmp_path: Path) -> None:
    if device == "cpu":
        pytest.skip("nothing on a CPU waits")
    _, data, module = make(tmp_path, *kinds.options(kind, tmp_path), "data.batch_size=5")
    strict = Strict()
    callbacks = [strict, GradientNorms(str(tmp_path / "gradients.csv")), GraphedSteps()]
    try:
        new_trainer(tmp_path, callbacks, accelerator="gpu", precision="bf16-mixed").fit(module, data)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert strict.steps >= 10


def test_a_model_that_was_trained_on_the_device_is_exported(trainer: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from tests.portable.exports import export

    texts = ["A great film, a film to remember", "dull", "one two three " * 300, "xqzzy"]
    train(tmp_path / "run", *OPTIONS, trainer, "trainer.precision=null")
    export(tmp_path / "run" / "checkpoints" / "best.ckpt", tmp_path / "export")
    expected = load(tmp_path / "run", device="cpu").predict_proba(texts)
    np.testing.assert_allclose(load(tmp_path / "export").predict_proba(texts), expected, atol=1e-5)


def test_frozen_states_lead_to_the_same_predictions(trainer: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from tests.training.callbacks.test_frozen_states import run

    options = ("model.encoder.freeze=true", trainer, SINGLE)
    computed = run(tmp_path, *options, "callbacks.frozen_states=null")
    stored = run(tmp_path, *options)
    assert not np.array_equal(stored, computed)  # half precision
    np.testing.assert_allclose(stored, computed, atol=2e-3)


def test_distributed_training_on_one_device_is_the_same(device: str, trainer: str, tmp_path: Path) -> None:
    train(tmp_path / "one", *SGD, trainer)
    try:
        with patch.dict(os.environ):  # Lightning sets MASTER_ADDR and others
            train(tmp_path / "ddp", *SGD, "trainer=ddp" if device == "cuda" else "trainer=ddp_sim", "trainer.devices=1")
    finally:
        torch.distributed.destroy_process_group()
    assert_near(tmp_path / "one", tmp_path / "ddp")
