"""A callback that records attention weights on the test split."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytorch_lightning as pl
import torch
from pydantic import Field

from heedful.base.files import write_arrays
from heedful.data.source import Source, source_of
from heedful.models.ensemble import Ensemble
from heedful.runs.examples import KINDS, Example, write_examples
from heedful.runs.run_files import STATISTICS_FILE, Statistics

BINS = 50  # equal parts of a text, in which `by_position` sums the weights


@dataclass(eq=False)
class AttentionRecorder(pl.Callback):
    """Writes texts with their weights to `attention.json`, and statistics to `attention_stats.npz`.

    The most confident mistakes and the most uncertain predictions are among the texts. The comments in
    conf/callbacks/attention.yaml describe the options.
    """

    folder: str
    examples: Annotated[int, Field(ge=0)] = 6
    shared: Annotated[int, Field(ge=0)] = 4
    sample: Annotated[int, Field(ge=0)] = 1000
    texts: Sequence[str] = ()
    errors: Annotated[int, Field(ge=0)] = 10
    keep_texts: bool = True

    def on_test_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        if not trainer.is_global_zero:
            return
        data, ensemble = source_of(trainer), pl_module.ensemble()
        probabilities, labels, rows = (pl_module.evaluated[name] for name in ("probabilities", "labels", "index"))
        notable = {
            kind: rows[places].tolist() for kind, places in pl_module.task.notable(probabilities, labels).items()
        }
        selected = self._select_rows(rows, *list(notable.values())[:2])
        errors = [(kind, row) for kind in KINDS for row in notable.get(kind, [])[: self.errors]]
        shown = list(dict.fromkeys([*selected, *(row for _, row in errors)]))  # each text is classified once
        if not self.keep_texts:
            selected, errors, shown = [], [], []
        of_test = _of_test(data, ensemble, shown)
        examples = [of_test[row] for row in selected]
        examples += [replace(example, index=i) for i, example in enumerate(ensemble.examples(self.texts))]
        examples += [replace(of_test[row], kind=kind, matrix=None, layers={}) for kind, row in errors]
        write_examples(Path(self.folder), examples)
        self._write_statistics(trainer, ensemble)

    def _select_rows(self, rows: np.ndarray, good: list[int], bad: list[int]) -> list[int]:
        """Return the rows of the test split whose texts are shown, among them those of good and bad predictions."""
        selection = random.Random(0).sample(rows.tolist(), min(self.shared, len(rows)))
        for order in (good, bad):
            pool = order[: max(50, self.examples)]
            # the texts of the most confident predictions are often similar to each other
            random.Random(0).shuffle(pool)
            selection += [row for row in pool[: self.examples // 2] if row not in selection]
        return selection

    @torch.inference_mode()
    def _write_statistics(self, trainer: pl.Trainer, ensemble: Ensemble) -> None:
        data = source_of(trainer)
        batches = data.test_dataloader()
        interval = max(1, len(batches) // max(1, -(-self.sample // data.batch_size)))
        positions, entropies, lengths = [], [], []
        for rows in batches.plan[::interval]:
            inputs = trainer.strategy.batch_to_device(batches.builder(rows)).inputs
            weights = ensemble.token_weights(inputs).double().cpu()  # N×L
            length = inputs.mask.sum(1).cpu().numpy()  # N
            entropies.append(torch.special.entr(weights).sum(1).numpy())
            lengths.append(length)
            positions += [by_position(row[:size]) for row, size in zip(weights.numpy(), length, strict=True)]
        entropy = np.concatenate(entropies)
        statistics = Statistics(np.mean(positions, 0), entropy, np.exp(entropy), np.concatenate(lengths))
        write_arrays(Path(self.folder) / STATISTICS_FILE, **statistics._asdict())


def _of_test(data: Source, ensemble: Ensemble, rows: Sequence[int]) -> dict[int, Example]:
    """Return the examples of rows of the test split, by row, with their true classes and origins."""
    labels = data.task.decode(data.tokenized("test").labels[list(rows)])
    origins, found = data.origins("test", rows), dict[int, Example]()
    for i, example in enumerate(ensemble.examples(data.table("test", rows))):
        origin = {name: "" if cells[i] is None else str(cells[i]) for name, cells in origins.items()}
        found[rows[i]] = replace(example, split="test", index=rows[i], label=labels[i], origin=origin)
    return found


def by_position(weights: np.ndarray) -> np.ndarray:
    """Return the weight in each of 50 equal parts of a text, L → 50; a word's weight is spread evenly over the word."""
    cumulative = np.concatenate([[0.0], weights.cumsum()])  # weight of all words before each word
    return np.diff(np.interp(np.linspace(0, len(weights), BINS + 1), np.arange(len(weights) + 1), cumulative))
