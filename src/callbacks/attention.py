"""What the attention looked at, measured on the test split."""

import json
import logging
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from src.analysis.explanation import explain
from src.data.datamodule import TextDataModule
from src.errors import UserError

log = logging.getLogger(__name__)
BINS = 50  # of relative position


class AttentionRecorder(pl.Callback):
    """Writes example texts with their weights to `attention.json`, and statistics to `attention_stats.npz`.

    Args:
        folder: where to write both.
        examples: texts to show, half of them confidently right and half confidently wrong where there are such.
        shared: further ones, drawn from the split alone: every run on the same data shows the same.
        sample: texts to measure, at the least where the split has as many; evenly over all lengths.
        texts: sentences of one's own, explained behind the examples.

    Raises:
        ValueError: if a number is negative.
    """

    def __init__(
        self, folder: str, examples: int = 6, shared: int = 4, sample: int = 1000, texts: Sequence[str] = ()
    ) -> None:
        for name, number in (("examples", examples), ("shared", shared), ("sample", sample)):
            if number < 0:
                raise ValueError(f"{name}={number} must not be negative")
        self.folder = Path(folder)
        self.examples = examples
        self.shared = shared
        self.sample = sample
        self.texts = list(texts)
        self._confident: list[tuple[float, bool, int]] = []  # probability, right, index

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._confident = []

    def on_test_batch_end(self, trainer: pl.Trainer, pl_module: Any, outputs: Any, *args: Any) -> None:
        probability, predicted = outputs["probabilities"].max(-1)
        right = predicted == outputs["labels"]
        rows = zip(probability.tolist(), right.tolist(), outputs["index"].tolist(), strict=True)
        self._confident.extend(rows)

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        data: TextDataModule = trainer.datamodule  # type: ignore[attr-defined]
        if trainer.is_global_zero:
            self._write_examples(data, pl_module)
            self._write_statistics(data, pl_module)

    def _write_examples(self, data: TextDataModule, module: Any) -> None:
        chosen = self._choice()
        try:
            texts = data.texts("test", chosen) if chosen else []
        except UserError as error:
            log.warning("%s: left out the examples of the test split. %s", self.folder / "attention.json", error)
            chosen, texts = [], []
        labels = [data.class_names[label] for label in data.tokenized("test").labels[chosen]]
        about: list[dict[str, Any]] = [
            {"split": "test", "index": index, "label": label} for index, label in zip(chosen, labels, strict=True)
        ]
        about += [{"split": "text", "index": number, "label": None} for number in range(len(self.texts))]
        explained = explain(module.model, module.loss, data.codec, texts + self.texts)
        examples = [{**what, **said.to_dict()} for what, said in zip(about, explained, strict=True)]
        text = json.dumps(examples, separators=(",", ":"))
        (self.folder / "attention.json").write_text(text, encoding="utf-8")

    def _choice(self) -> list[int]:
        """The rows of the test split to show."""
        indices = sorted(row[2] for row in self._confident)
        chosen = random.Random(0).sample(indices, min(self.shared, len(indices)))
        for right in (True, False):
            rows = sorted((row for row in self._confident if row[1] is right), key=lambda row: (-row[0], row[2]))
            pool = rows[: max(50, self.examples)]  # among the most confident, any: the very first are often alike
            random.Random(0).shuffle(pool)
            chosen += [row[2] for row in pool[: self.examples // 2] if row[2] not in chosen]
        return chosen

    @torch.inference_mode()
    def _write_statistics(self, data: TextDataModule, module: Any) -> None:
        loader = data.test_dataloader()
        wanted = max(1, -(-self.sample // data.batch_size))
        every = max(1, len(loader) // wanted)
        positions, entropies, lengths = [], [], []
        for number, batch in enumerate(loader):
            if number % every:
                continue
            weights = module.model.token_weights(batch.tokens.to(module.device), batch.mask.to(module.device))
            weights = weights.double().cpu()  # N×L
            length = batch.mask.sum(1).cpu().numpy()  # N
            entropies.append(torch.special.entr(weights).sum(1).numpy())
            lengths.append(length)
            positions += [by_position(row[:size]) for row, size in zip(weights.numpy(), length, strict=True)]
        entropy = np.concatenate(entropies)
        np.savez_compressed(
            self.folder / "attention_stats.npz",
            position_mean=np.mean(positions, 0),
            entropy=entropy,
            effective=np.exp(entropy),
            length=np.concatenate(lengths),
        )


def by_position(weights: np.ndarray) -> np.ndarray:
    """The weight in each fiftieth of a text, every word's spread evenly over its own span: L → 50."""
    until = np.concatenate([[0.0], weights.cumsum()])  # weight of all words before each
    return np.diff(np.interp(np.linspace(0, len(weights), BINS + 1), np.arange(len(weights) + 1), until))
