"""Losses and metrics of training and evaluation, with one process and with two."""

import csv
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from src import build
from src.lit import _total_steps
from tests.helpers import one_batch, run, small_config, train


def last_values(folder: Path) -> dict[str, float]:
    """The last logged value of each metric."""
    with (folder / "csv" / "metrics.csv").open() as file:
        return {name: float(value) for row in csv.DictReader(file) for name, value in row.items() if value}


def test_losses_are_means_over_texts_and_not_over_batches(tmp_path: Path) -> None:
    """The logged losses of a model with learning rate 0, over uneven batches, equal its losses over whole splits."""
    options = ["optimizer=sgd", "optimizer.lr=0.0", "data.batch_size=5", "trainer.max_epochs=1"]
    train(tmp_path / "run", *options, "callbacks=checkpoints", "test=false")
    path = str(tmp_path / "run" / "checkpoints" / "last.ckpt")
    cfg = small_config(tmp_path / "run", options)
    card, (model, loss) = build.restore(path, cfg.extras)
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


def test_metrics_equal_values_calculated_by_hand() -> None:
    probabilities = torch.tensor([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]])
    labels = torch.tensor([0, 0, 1, 2])  # predicted 0, 1, 1, 2
    metrics = build.metrics(OmegaConf.create({}), 3)
    metrics.update(probabilities, labels)
    values = {name: value.item() for name, value in metrics.compute().items()}
    assert values["acc"] == 0.75
    assert values["balanced_acc"] == pytest.approx((1 / 2 + 1 + 1) / 3)
    # Texts of each class: 1, 2, 1 predicted and 2, 1, 1 true.
    assert values["mcc"] == pytest.approx((4 * 3 - 5) / math.sqrt((16 - 6) * (16 - 6)))
    assert values["precision_macro"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert values["recall_macro"] == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert values["f1_macro"] == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    assert values["auroc"] == 1
    assert values["ece"] == pytest.approx((abs(1 - 0.7) + abs(0 - 0.5) + abs(2 - 1.2)) / 4)


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


def test_two_processes_divide_the_texts(tmp_path: Path) -> None:
    options = ("model.encoder.hidden_dim=6", "trainer.max_epochs=2", "logger=csv", "hydra.run.dir=run")
    run(tmp_path, "train", "trainer=ddp_sim", *options, "callbacks=checkpoints", "data.batch_size=3")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["status"] == "completed"
    assert result["metrics"]["test/acc"]["n"] == 8
    for split in ("val", "test"):
        with np.load(tmp_path / "run" / "predictions" / f"{split}.npz") as predictions:
            assert predictions["index"].tolist() == list(range(result["data"][split]))
            accuracy = (predictions["probabilities"].argmax(1) == predictions["labels"]).mean()
        assert result["metrics"][f"{split}/acc"]["value"] == pytest.approx(accuracy)
    state = torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", weights_only=True)
    assert state["global_step"] == 2 * 5  # 28 texts, with 3 for each process in a step


def test_two_processes_train_like_one_with_twice_the_batch_size(tmp_path: Path) -> None:
    options = ("model.encoder.hidden_dim=6", "trainer.max_epochs=3", "logger=csv", "callbacks=checkpoints")
    train(tmp_path / "cpu", *options, "data.batch_size=14")  # 28 texts: two steps per epoch
    run(tmp_path, "train", *options, "trainer=ddp_sim", "data.batch_size=7", "hydra.run.dir=ddp_sim")
    single, distributed = (
        {
            **torch.load(tmp_path / name / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"],
            "probabilities": np.load(tmp_path / name / "predictions" / "test.npz")["probabilities"],
            "losses": [value for key, value in sorted(last_values(tmp_path / name).items()) if key.endswith("/loss")],
        }
        for name in ("cpu", "ddp_sim")
    )
    assert single.keys() == distributed.keys()
    for name, value in single.items():
        np.testing.assert_allclose(value, distributed[name], rtol=1e-4, atol=1e-5, err_msg=name)
