"""Components add terms to the training loss, which are logged by name."""

from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch import Tensor

from heedful.models.component import Encoded
from heedful.models.pooling import Mean
from heedful.training import build
from heedful.training.lit import LitClassifier
from tests.helpers import one_batch, small_config
from tests.models.combinations import compose, texts, with_pooling


class Norm(Mean):
    """The mean of the states, whose squared norm is added to the training loss."""

    def __init__(self, input_dim: int) -> None:
        super().__init__(input_dim)
        self.auxiliary_loss = {"norm": None}

    def forward(self, encoded: Encoded) -> Tensor:
        vector = super().forward(encoded)
        if self.training:
            self.auxiliary_loss = {"norm": vector.square().sum(1).mean()}
        return vector


def test_terms_of_one_name_are_added_and_taken_once() -> None:
    torch.manual_seed(0)
    basis = compose()
    outer, inner = Norm(basis.attention.output_dim), Norm(2)
    outer.inner = inner  # a component of a component
    model = with_pooling(basis, outer, basis.head)
    assert model.auxiliary_names == ("norm",)
    assert model.take_auxiliary_losses() == {}
    inputs = texts()
    model(inputs)
    inner(Encoded(torch.tensor([[[3.0, 4.0]]]), torch.ones(1, 1, dtype=torch.bool), torch.zeros(1, 2)))
    means = torch.stack([model.embedding(inputs)[n, : inputs.mask[n].sum()].mean(0) for n in range(len(inputs.ids))])
    expected = (means**2).sum() / len(means) + 25
    torch.testing.assert_close(model.take_auxiliary_losses(), {"norm": expected})
    assert model.take_auxiliary_losses() == {}
    model.eval()(inputs)
    assert model.take_auxiliary_losses() == {}
    assert basis.auxiliary_names == () and basis.take_auxiliary_losses() == {}


def fit(folder: Path, *overrides: str, ckpt_path: str | None = None) -> tuple[LitClassifier, Any, dict[str, float]]:
    """Train, and return the module, its data and the logged metrics."""
    pooling = ["model.pooling._target_=tests.training.test_auxiliary_loss.Norm"]
    options = [*pooling, "extras.trusted_modules=[tests]", "data.batch_size=5", "logger=none", "callbacks=checkpoints"]
    cfg = small_config(folder, ["model/encoder=identity", "trainer.max_epochs=1", *options, *overrides])
    torch.manual_seed(0)
    data = build.datamodule(cfg)
    module = LitClassifier.from_config(cfg, data)
    trainer = build.trainer(cfg)
    trainer.fit(module, data, ckpt_path=ckpt_path, weights_only=True)
    return module, data, {name: float(value) for name, value in trainer.callback_metrics.items()}


def test_a_term_is_added_in_training_alone_and_logged_by_its_name(tmp_path: Path) -> None:
    """With learning rate 0, the logged values over uneven batches are those of a whole split."""
    module, data, logged = fit(tmp_path / "run", "optimizer=sgd", "optimizer.lr=0.0")
    for split in ("train", "val"):
        batch = one_batch(data.codec, data.texts(split, range(data.sizes[split])), data.tokenized(split).labels)
        with torch.no_grad():
            logits = module.eval()(batch.inputs)
            vectors = module.model.pooling(module.model.attention(module.model.encode(batch.inputs)))
        assert logged[f"{split}/loss"] == pytest.approx(float(module.loss(logits, batch.targets)), rel=1e-5)
        accuracy = (logits.argmax(1) == batch.targets).double().mean()
        assert logged[f"{split}/acc"] == pytest.approx(float(accuracy), rel=1e-5)
        norm = vectors.square().sum(1).mean()
        assert logged.get(f"{split}/norm") == (pytest.approx(float(norm), rel=1e-5) if split == "train" else None)


def test_a_step_follows_the_gradient_of_the_loss_with_the_term(tmp_path: Path) -> None:
    options = ["optimizer=sgd", "optimizer.lr=0.5", "data.batch_size=100"]
    before, data, _ = fit(tmp_path / "start", *options, "+trainer.limit_train_batches=0")
    after, _, _ = fit(tmp_path / "run", *options)
    batch = one_batch(data.codec, data.texts("train", range(data.sizes["train"])), data.tokenized("train").labels)
    loss = before.loss(before.train()(batch.inputs), batch.targets)
    (loss + before.model.take_auxiliary_losses()["norm"]).backward()
    for name, parameter in before.model.named_parameters():
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(after.model.get_parameter(name), parameter - 0.5 * gradient, rtol=1e-4, atol=1e-6)


class SavedAfterThreeBatches(pl.Callback):
    def on_train_batch_end(self, trainer: pl.Trainer, *args: Any) -> None:
        if trainer.global_step == 3:
            trainer.save_checkpoint(Path(trainer.default_root_dir) / "three.ckpt")


def test_a_training_resumed_within_an_epoch_logs_the_same_mean_of_the_term(tmp_path: Path) -> None:
    saves = "+callbacks.saves._target_=tests.training.test_auxiliary_loss.SavedAfterThreeBatches"
    whole, _, expected = fit(tmp_path / "run", saves, f"trainer.default_root_dir={tmp_path}")
    resumed, _, logged = fit(tmp_path / "resumed", ckpt_path=str(tmp_path / "three.ckpt"))
    assert logged["train/norm"] == expected["train/norm"] > 0
    torch.testing.assert_close(resumed.state_dict(), whole.state_dict(), rtol=0, atol=0)
