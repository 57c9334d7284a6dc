"""Heed in the benchmarks: training, evaluation and prediction with a configured model on a sample of the reviews."""

import logging
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from benchmarks.measure import evenly
from src import build
from src.analysis.explanation import explain
from src.callbacks.predictions import Predictions
from src.callbacks.speed import Speed
from src.checkpoint import Card
from src.cli.entry import CONF
from src.data.batch_order import Plan
from src.data.loaders import Batches, ShuffledBatches
from src.data.padded_batches import BatchBuilder

STEP_CALLBACKS = ("finite_loss", "gradient_norms")  # default callbacks that take time during an epoch


class Sample(pl.LightningDataModule):
    """A data module that returns the same batches for training and test, in every epoch."""

    def __init__(self, batches: Batches, class_names: tuple[str, ...]) -> None:
        super().__init__()
        self.batches = batches
        self.class_names = class_names

    def train_dataloader(self) -> Batches:
        return self.batches

    def test_dataloader(self) -> Batches:
        return self.batches


class HeedRunner:
    """One configuration of Heed on one set of reviews.

    `train`, `train_bare`, `evaluate` and `predict` read about `reviews` reviews, sampled evenly over all lengths, and
    return the reviews per second. Except in `predict`, the batches are a sample of the batches of a whole epoch.

    Args:
        overrides: overrides of the training configuration, including those of the data.
        folder: output folder of the training.
        device: cpu or cuda; the data are stored on this device.
    """

    def __init__(self, overrides: Sequence[str], folder: Path, device: str = "cpu") -> None:
        for name in ("pytorch_lightning", "lightning_fabric"):
            logging.getLogger(name).setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric|torchmetrics|torch")
        self.folder = folder
        self.device = device
        self.cfg = configuration(overrides, folder, device)
        self.data = build.datamodule(self.cfg)
        config: Any = OmegaConf.to_container(self.cfg, resolve=True)
        self.module = build.module(self.cfg, Card(config, self.data.codec, self.data.class_counts))
        loader = self.data.train_dataloader()
        assert isinstance(loader, ShuffledBatches)
        self.plans = {"train": loader.order(0), "test": self.data.test_dataloader().plan}

    def train(self, reviews: int) -> float:
        """Train with the Trainer, as src.train does."""
        speed = Speed()
        self._trainer(speed).fit(self.module, self._sample("train", reviews))
        return speed.texts_per_second or 0.0

    def train_bare(self, reviews: int) -> float:
        """Train in a bare loop, with the same model, batches and optimizer, but without the Trainer."""
        batches = self._batches("train", reviews)
        self.module.to(self.device).train()
        optimizer = build.optimizer(self.cfg, self.module.model)
        bf16 = self.cfg.trainer.precision == "bf16-mixed"
        start = time.perf_counter()
        for batch in batches:
            with torch.autocast(self.device, torch.bfloat16, enabled=bf16):
                loss = self.module.loss(self.module.model(batch.tokens, batch.mask), batch.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return self._rate(sum(map(len, batches.plan)), start)

    def evaluate(self, reviews: int) -> float:
        """Compute all metrics and predictions, as src.train does after training."""
        speed, sample = Speed(), self._sample("test", reviews)
        trainer = self._trainer(Predictions(self.folder / "predictions"), speed)
        trainer.test(self.module, sample, verbose=False)
        assert speed.test_seconds is not None
        return sum(map(len, sample.batches.plan)) / speed.test_seconds

    def predict(self, reviews: int) -> float:
        """Compute the class of each text, and the words with the highest attention weights, as src.predict does."""
        texts, _ = self.texts(reviews)
        start = time.perf_counter()
        explain(self.module.model.to(self.device), self.module.loss, self.data.codec, texts, maps=False)
        return self._rate(len(texts), start)

    def texts(self, reviews: int) -> tuple[list[str], torch.Tensor]:
        """Return about `reviews` training reviews of all lengths, in random order, and their labels."""
        part = self.data.tokenized("train")
        ranked = np.argsort(np.diff(part.offsets), kind="stable")
        rows = np.random.default_rng(0).permutation(evenly(ranked, reviews))
        return self.data.texts("train", rows), torch.from_numpy(part.labels[rows])

    def _trainer(self, *callbacks: pl.Callback) -> pl.Trainer:
        return build.trainer(self.cfg, callbacks, build.loggers(self.cfg))

    def _sample(self, split: str, reviews: int) -> Sample:
        return Sample(self._batches(split, reviews), self.data.class_names)

    def _batches(self, split: str, reviews: int) -> Batches:
        part = self.data.tokenized(split)
        cut = BatchBuilder(part.tokens, part.offsets, part.labels, self.data.truncation, self.device)
        return Batches(cut, sample_batches(self.plans[split], cut.lengths, reviews))

    def _rate(self, reviews: int, start: float) -> float:
        if self.device == "cuda":
            torch.cuda.synchronize()
        return reviews / (time.perf_counter() - start)


def configuration(overrides: Sequence[str], folder: Path, device: str) -> DictConfig:
    """Compose a configuration of one training epoch without progress output and checkpoints."""
    all_overrides = [
        *overrides,
        f"paths.output_dir='{folder}'",
        f"trainer={'gpu' if device == 'cuda' else 'cpu'}",
        "trainer.max_epochs=1",
        "+trainer.limit_val_batches=0",
        "logger=csv",
    ]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", all_overrides)
    cfg.callbacks = {name: cfg.callbacks[name] for name in STEP_CALLBACKS}
    return cfg


def sample_batches(plan: Plan, lengths: np.ndarray, reviews: int) -> Plan:
    """Return some batches of an epoch, with about `reviews` reviews of all lengths, in random order."""
    ranked = sorted(plan, key=lambda rows: float(lengths[rows].mean()))
    sample = evenly(ranked, round(reviews * len(plan) / sum(map(len, plan))))
    return [sample[i] for i in np.random.default_rng(0).permutation(len(sample))]
