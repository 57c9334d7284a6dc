"""Heed's side: a configured model and its data, trained, evaluated and asked over some of the reviews."""

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
from src.data.batching import BatchBuilder
from src.data.loaders import Batches, ShuffledBatches
from src.data.order import Plan

WATCHING = ("finite_loss", "gradient_norms")  # the callbacks that look at a user's every step, beside the CSV log


class Sample(pl.LightningDataModule):
    """The same batches on every pass, to train on and to test on."""

    def __init__(self, batches: Batches, class_names: tuple[str, ...]) -> None:
        super().__init__()
        self.batches = batches
        self.class_names = class_names

    def train_dataloader(self) -> Batches:
        return self.batches

    def test_dataloader(self) -> Batches:
        return self.batches


class Ours:
    """One configuration of Heed's on one set of reviews.

    Every method that reads takes about how many reviews to read, takes them evenly over all lengths, in the batches
    that a whole epoch would have, and returns how many it read a second.

    Args:
        overrides: of the training configuration, those of the data included.
        folder: for what a training writes.
        device: cpu or cuda; on cuda in bf16-mixed, with the data on the device.
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
        """Through the Trainer, as a user does."""
        speed = Speed()
        self._trainer(speed).fit(self.module, self._sample("train", reviews))
        return speed.texts_per_second or 0.0

    def train_bare(self, reviews: int) -> float:
        """The same steps in a loop of six lines."""
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
        """Every metric and every prediction, as after a training."""
        speed, sample = Speed(), self._sample("test", reviews)
        trainer = self._trainer(Predictions(self.folder / "predictions"), speed)
        trainer.test(self.module, sample, verbose=False)
        return sum(map(len, sample.batches.plan)) / speed.seconds["test"]

    def predict(self, reviews: int) -> float:
        """From text to class and most attended words, as `src.predict` does."""
        texts, _ = self.texts(reviews)
        start = time.perf_counter()
        explain(self.module.model.to(self.device), self.module.loss, self.data.codec, texts, maps=False)
        return self._rate(len(texts), start)

    def texts(self, reviews: int) -> tuple[list[str], torch.Tensor]:
        """About so many training reviews, evenly over all lengths, in random order; and their labels."""
        part = self.data.tokenized("train")
        ranked = np.argsort(np.diff(part.offsets), kind="stable")
        rows = np.random.default_rng(0).permutation(evenly(ranked, reviews))
        return self.data.texts("train", rows), torch.from_numpy(part.labels[rows])

    def _trainer(self, *watchers: pl.Callback) -> pl.Trainer:
        return build.trainer(self.cfg, watchers, build.loggers(self.cfg))

    def _sample(self, split: str, reviews: int) -> Sample:
        return Sample(self._batches(split, reviews), self.data.class_names)

    def _batches(self, split: str, reviews: int) -> Batches:
        part = self.data.tokenized(split)
        builder = BatchBuilder(part.tokens, part.offsets, part.labels, self.data.truncation, self.device)
        return Batches(builder, some_batches(self.plans[split], builder.lengths, reviews))

    def _rate(self, reviews: int, start: float) -> float:
        if self.device == "cuda":
            torch.cuda.synchronize()
        return reviews / (time.perf_counter() - start)


def configuration(overrides: Sequence[str], folder: Path, device: str) -> DictConfig:
    """One epoch of training alone: nothing is shown, and no checkpoint written."""
    given = [
        *overrides,
        f"paths.output_dir='{folder}'",
        f"trainer={'gpu' if device == 'cuda' else 'cpu'}",
        "trainer.max_epochs=1",
        "+trainer.limit_val_batches=0",
        "logger=csv",
    ]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", given)
    cfg.callbacks = {name: cfg.callbacks[name] for name in WATCHING}
    return cfg


def some_batches(plan: Plan, lengths: np.ndarray, reviews: int) -> Plan:
    """So many batches of an epoch that they hold about `reviews`, evenly over all lengths, in random order."""
    ranked = sorted(plan, key=lambda rows: float(lengths[rows].mean()))
    chosen = evenly(ranked, round(reviews * len(plan) / sum(map(len, plan))))
    return [chosen[i] for i in np.random.default_rng(0).permutation(len(chosen))]
