"""A callback that leaves each word out of test texts, which shows what it does to the prediction of the whole model."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytorch_lightning as pl
from pydantic import Field

from heedful.data.source import Source, source_of
from heedful.kernels.threads import use_threads
from heedful.models.ensemble import Ensemble
from heedful.models.probe import Probe
from heedful.runs.removal import Removal, write_removals
from heedful.tasks.task import Task

BUDGET = 5e10  # tokens × weights of the model, over all predictions; longer texts and larger models have fewer texts
FEWEST = 50_000  # weights; a token costs time in the smallest models, too
CHUNK = 64  # texts whose words are left out together
SMALLEST = 1e-7  # of a probability, to limit its log odds


@dataclass(eq=False)
class WordRemoval(pl.Callback):
    """Writes `removal.json`: all mistakes and a sample of the other test texts, as far as BUDGET allows.

    The comments in conf/callbacks/removal.yaml describe the options.
    """

    folder: str
    texts: Annotated[int, Field(ge=0)] = 2000
    keep_texts: bool = True

    def on_test_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        if trainer.is_global_zero:
            self.write(source_of(trainer), pl_module.ensemble(), pl_module.task, pl_module.evaluated)

    def write(self, data: Source, ensemble: Ensemble, task: Task, evaluated: Mapping[str, np.ndarray]) -> None:
        """Write the file from an evaluation of the test texts: their probabilities, labels and index."""
        if self.keep_texts and self.texts and len(ensemble.members) == 1:
            probabilities, labels, rows = (evaluated[name] for name in ("probabilities", "labels", "index"))
            good, bad, *_ = map(np.ndarray.tolist, task.notable(probabilities, labels).values())
            bad = bad[: self.texts if len(bad) < len(rows) else self.texts // 2]  # each number has an error
            order = dict.fromkeys([*bad, *random.Random(0).sample(good, len(good))])
            chosen = rows[list(order)[: self.texts]]
            write_removals(Path(self.folder), remove_words(data, ensemble, chosen))


def remove_words(data: Source, ensemble: Ensemble, rows: np.ndarray) -> list[Removal]:
    """Return what each word does in the test texts of these rows, without those that exceed the rest of BUDGET."""
    (member,), builder = ensemble.members, data.builder("test")
    weights, left, measured, found = max(member.weights, FEWEST), BUDGET, list[int](), list[Removal]()
    for row in rows.tolist():
        if (cost := int(builder.lengths[row]) ** 2 * weights) <= left:
            measured.append(row)
            left -= cost
    probe = Probe(member.model, member.card.codec.task, builder.truncation)
    score = _log_odds if probe.task.has_classes else np.asarray
    with use_threads(member.threads(builder.lengths[measured], CHUNK)):
        for chunk in (measured[start : start + CHUNK] for start in range(0, len(measured), CHUNK)):
            examples = ensemble.examples(data.table("test", chunk), maps=False)
            probabilities = np.array([list(example.probabilities.values()) for example in examples])
            texts = [probe.tokens(builder(np.array([row])).inputs) for row in chunk]
            without = probe.without_each(texts, probabilities.argmax(1))
            for row, example, whole, part in zip(chunk, examples, probabilities.max(1), without, strict=True):
                shares = np.zeros(0) if example.branch is None else example.branch.shares
                found.append(Removal(row, example.words, score(whole) - score(part), example.weights, shares))
    return found


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    inner = np.clip(probabilities, SMALLEST, 1 - SMALLEST)
    return np.log(inner / (1 - inner))
