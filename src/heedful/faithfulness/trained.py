"""A trained model with its data: the checkpoint of a run, and samples of the texts of its splits."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from omegaconf import OmegaConf

from heedful.base.errors import UserError
from heedful.data.splits import sample
from heedful.inference.api import evaluation_data, restore_ensemble
from heedful.models.probe import Probe
from heedful.records.runs import FinishedRun
from heedful.runs.folder import BEST, LAST, checkpoint_in


class SampledTexts(NamedTuple):
    """n texts of a split; each contains only the tokens that the model knows, and at least one such token."""

    rows: np.ndarray  # n, row numbers in the split, ascending
    labels: np.ndarray  # n
    texts: list[np.ndarray]
    skipped: int  # number of sampled texts in which the model knows no token


class ProbedRun:
    """The model of a run and its data, whose path `data_path` replaces unless it is None."""

    def __init__(
        self, run: Path, trusted_modules: Sequence[str] = (), data_path: str | None = None, device: str = "auto"
    ) -> None:
        self.run = run
        self.extras = OmegaConf.create({"trusted_modules": list(trusted_modules)})
        path = str(checkpoint_in(run, BEST, LAST))
        ((_, self.card, model, _),) = restore_ensemble(path, self.extras, device=device).members
        self.codec = self.card.codec
        if not self.codec.class_names:
            raise UserError(f"{run}: has no classes, and faithfulness is measured by their probabilities: leave it out")
        self.probe = Probe(model.requires_grad_(False), self.codec.task, self.codec.truncation)
        overrides = {"progress": False} | ({} if data_path is None else {"path": data_path})
        cfg = OmegaConf.create({"ckpt_path": path, "data": overrides, "extras": self.extras, "seed": 0})
        self.data = evaluation_data(cfg, self.card)

    def sample(self, split: str, count: int, seed: int) -> SampledTexts:
        """Draw a stratified sample of a split, with a text of each class; skip texts without known tokens."""
        task, labels = self.codec.task, self.data.tokenized(split).labels
        rows = sample(task, labels, max(count, len(np.unique(task.strata(labels)))), [seed])
        texts = [tokens[self.probe.known(tokens)] for tokens in self.tokens(split, rows)]
        is_empty = np.array([len(text) == 0 for text in texts])
        if is_empty.all():
            raise UserError(f"{self.run}: the model knows no token of the {len(rows):,} selected {split} texts")
        rows = rows[~is_empty]
        return SampledTexts(rows, labels[rows], [text for text in texts if len(text)], int(is_empty.sum()))

    def tokens(self, split: str, rows: np.ndarray) -> list[np.ndarray]:
        """Return the tokens of the texts in these rows of a split, after truncation."""
        builder = self.data.builder(split)
        return [self.probe.tokens(builder(rows[i : i + 1]).inputs) for i in range(len(rows))]


def measured_data(run: FinishedRun, data_path: str | None, trusted_modules: Sequence[str] = ()) -> str:
    """Return the fingerprint of the texts that are measured: those of the run, or those at another path."""
    if data_path is None:
        return run.result.data.fingerprint or ""
    return ProbedRun(run.folder, trusted_modules, data_path, "cpu").data.data_fingerprint


def checkpoint_digest(run: Path) -> str:
    """Return the hexadecimal SHA-256 of the checkpoint that is measured."""
    with checkpoint_in(run, BEST, LAST).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
