"""Heedful in the benchmarks: training a configured model on a sample of the reviews."""

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from benchmarks.measure import evenly
from heedful.config.keys import CONF
from heedful.data.padded_batches import Batches, Plan, ShuffledBatches
from heedful.runs.checkpoint import Card
from heedful.training import build
from heedful.training.callbacks.speed import Speed
from heedful.training.lit import LitClassifier

STEP_CALLBACKS = ("gradient_norms", "graphs")  # default callbacks that take or save time during an epoch


class Sample(pl.LightningDataModule):
    """A data module with the same training batches in every epoch."""

    def __init__(self, batches: Batches) -> None:
        super().__init__()
        self.batches = batches

    def train_dataloader(self) -> Batches:
        return self.batches


class HeedfulRunner:
    """One configuration of Heedful on one set of reviews.

    Args:
        overrides: overrides of the training configuration, including those of the data.
        folder: output folder of the training.
        device: cpu or cuda; the data are stored on this device.
        has_graphs: on a GPU, whether steps run as CUDA graphs.
    """

    def __init__(self, overrides: Sequence[str], folder: Path, device: str = "cpu", has_graphs: bool = True) -> None:
        for name in ("pytorch_lightning", "lightning_fabric"):
            logging.getLogger(name).setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric|torchmetrics|torch")
        self.cfg = configuration(overrides, folder, device)
        if not has_graphs:
            self.cfg.callbacks.graphs = None
        elif device == "cuda":
            self.cfg.trainer.max_epochs = 3
        self.data = build.datamodule(self.cfg)
        config: Any = OmegaConf.to_container(self.cfg, resolve=True)
        self.module = LitClassifier.untrained(
            self.cfg, Card(config=config, codec=self.data.codec, class_counts=self.data.class_counts)
        )
        loader = self.data.train_dataloader()
        assert isinstance(loader, ShuffledBatches)
        self.builder, self.plan = loader.builder, loader.order(0)
        self.builder.tokens, self.builder.targets = self.builder.tokens.to(device), self.builder.targets.to(device)

    def train(self, reviews: int) -> float:
        """Train with the Trainer, as src.train does, on some batches of an epoch; return the reviews per second.

        With graphs, it is the speed of the third epoch: a shape is recorded when it occurs for the second time.
        """
        speed = Speed()
        batches = Batches(self.builder, sample_batches(self.plan, self.builder.lengths, reviews))
        trainer = build.trainer(self.cfg, [speed])
        trainer.fit(self.module, Sample(batches))
        texts, seconds = speed.epochs[-1]
        return texts / seconds

    def texts(self, reviews: int) -> tuple[list[Tensor], Tensor]:
        """Return the token ids and the labels of about `reviews` training reviews of all lengths; none is empty."""
        texts: list[Tensor] = []
        labels: list[int] = []
        for batch in Batches(self.builder, sample_batches(self.plan, self.builder.lengths, reviews)):
            ids, mask, *_ = batch.inputs
            for own, is_token, label in zip(ids.cpu(), mask.cpu(), batch.targets.tolist(), strict=True):
                if is_token.any():
                    texts.append(own[is_token])
                    labels.append(label)
        return texts, torch.tensor(labels)


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
    cfg.callbacks = {name: cfg.callbacks[name] for name in STEP_CALLBACKS if name in cfg.callbacks}
    return cfg


def sample_batches(plan: Plan, lengths: np.ndarray, reviews: int) -> Plan:
    """Return some batches of an epoch, with about `reviews` reviews of all lengths, in random order."""
    ranked = sorted(plan, key=lambda rows: float(lengths[rows].mean()))
    sample = evenly(ranked, round(reviews * len(plan) / sum(map(len, plan))))
    return [sample[i] for i in np.random.default_rng(0).permutation(len(sample))]
