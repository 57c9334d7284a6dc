"""A callback that records attention weights on the test split."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from pydantic import Field

from src.data.source import Source
from src.files import csv_line, write_arrays, write_text
from src.records.examples import disarm, write_examples

ERROR_COLUMNS = ("kind", "index", "label", "predicted", "probability", "text", "words")
BINS = 50  # equal parts of a text, in which `by_position` sums the weights


class Prediction(NamedTuple):
    """The prediction for one text of the test split."""

    probability: float  # probability of the predicted class
    is_correct: bool
    row: int  # row in the split


class AttentionRecorder(pl.Callback):
    """Writes example texts with their weights to `attention.json`, and statistics to `attention_stats.npz`.

    Also writes the most confident mistakes and the most uncertain predictions to `errors.csv`. The comments in
    conf/callbacks/attention.yaml describe the options.
    """

    def __init__(
        self,
        folder: str,
        examples: Annotated[int, Field(ge=0)] = 6,
        shared: Annotated[int, Field(ge=0)] = 4,
        sample: Annotated[int, Field(ge=0)] = 1000,
        texts: Sequence[str] = (),
        errors: Annotated[int, Field(ge=0)] = 10,
    ) -> None:
        self.folder = Path(folder)
        self.num_examples = examples
        self.num_shared = shared
        self.min_sample = sample
        self.texts = list(texts)
        self.num_errors = errors
        self._predictions: list[Prediction] = []

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._predictions = []

    def on_test_batch_end(self, trainer: pl.Trainer, pl_module: Any, outputs: Any, *args: Any) -> None:
        probability, predicted = outputs["probabilities"].max(-1)
        correct = predicted == outputs["labels"]
        rows = zip(probability.tolist(), correct.tolist(), outputs["index"].tolist(), strict=True)
        self._predictions += map(Prediction._make, rows)

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        data: Source = trainer.datamodule  # type: ignore[attr-defined]
        if trainer.is_global_zero:
            self._write_examples(data, pl_module)
            self._write_statistics(data, pl_module)
            self._write_errors(data, pl_module)

    def _write_examples(self, data: Source, module: Any) -> None:
        selection = self._select_rows()
        texts = data.texts("test", selection) if selection else []
        labels = [data.class_names[label] for label in data.tokenized("test").labels[selection]]
        metadata = [("test", *row_and_label) for row_and_label in zip(selection, labels, strict=True)]
        metadata += [("text", number, None) for number in range(len(self.texts))]
        examples = zip(module.ensemble().explain(texts + self.texts), metadata, strict=True)
        described = [replace(each, split=split, index=index, label=label) for each, (split, index, label) in examples]
        write_examples(self.folder / "attention.json", described)

    def _select_rows(self) -> list[int]:
        """Return the rows of the test split whose texts are shown."""
        indices = sorted(each.row for each in self._predictions)
        selection = random.Random(0).sample(indices, min(self.num_shared, len(indices)))
        for is_correct in (True, False):
            rows = [each for each in self._predictions if each.is_correct is is_correct]
            rows.sort(key=lambda each: (-each.probability, each.row))
            pool = rows[: max(50, self.num_examples)]
            # the texts of the most confident predictions are often similar to each other
            random.Random(0).shuffle(pool)
            selection += [each.row for each in pool[: self.num_examples // 2] if each.row not in selection]
        return selection

    def _write_errors(self, data: Source, module: Any) -> None:
        """Write the most confident mistakes, then the most uncertain predictions, as CSV."""
        mistakes = sorted((-each.probability, each.row) for each in self._predictions if not each.is_correct)[
            : self.num_errors
        ]
        uncertain = sorted((each.probability, each.row) for each in self._predictions)[: self.num_errors]
        kinds = ["mistake"] * len(mistakes) + ["uncertain"] * len(uncertain)
        rows = [index for _, index in mistakes + uncertain]
        texts = data.texts("test", rows) if rows else []
        labels = data.tokenized("test").labels[rows].tolist() if rows else []
        examples = module.ensemble().explain(texts, maps=False)
        lines = [csv_line(ERROR_COLUMNS)]
        for kind, row, label, text, each in zip(kinds, rows, labels, texts, examples, strict=True):
            words = [[word, round(weight, 4)] for word, weight in zip(each.words, each.weights.tolist(), strict=True)]
            label_cell, predicted, text_cell = map(disarm, (data.class_names[label], each.predicted, text))
            probability = round(each.probabilities[each.predicted], 6)
            content = json.dumps(words, ensure_ascii=False)
            lines.append(csv_line([kind, row, label_cell, predicted, probability, text_cell, content]))
        write_text(self.folder / "errors.csv", "".join(lines))

    @torch.inference_mode()
    def _write_statistics(self, data: Source, module: Any) -> None:
        loader = data.test_dataloader()
        batch_count = max(1, -(-self.min_sample // data.batch_size))
        interval = max(1, len(loader) // batch_count)
        positions, entropies, lengths = [], [], []
        for number, batch in enumerate(loader):
            if number % interval:
                continue
            weights = module.model.token_weights(batch.tokens.to(module.device), batch.mask.to(module.device))
            weights = weights.double().cpu()  # N×L
            length = batch.mask.sum(1).cpu().numpy()  # N
            entropies.append(torch.special.entr(weights).sum(1).numpy())
            lengths.append(length)
            positions += [by_position(row[:size]) for row, size in zip(weights.numpy(), length, strict=True)]
        entropy = np.concatenate(entropies)
        write_arrays(
            self.folder / "attention_stats.npz",
            position_mean=np.mean(positions, 0),
            entropy=entropy,
            effective=np.exp(entropy),
            length=np.concatenate(lengths),
        )


def by_position(weights: np.ndarray) -> np.ndarray:
    """Return the weight in each of 50 equal parts of a text, L → 50; a word's weight is spread evenly over the word."""
    cumulative = np.concatenate([[0.0], weights.cumsum()])  # weight of all words before each word
    return np.diff(np.interp(np.linspace(0, len(weights), BINS + 1), np.arange(len(weights) + 1), cumulative))
