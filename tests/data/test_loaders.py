"""Training batches resume exactly, with and without a Trainer."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from src.data.padded_batches import Batch, BatchBuilder, Batches, ShuffledBatches, Truncation, by_length, shuffled
from src.errors import UserError

ROWS, BATCH_SIZE = 29, 4
STEPS = 8  # ceil(29 / 4)


def batch_builder() -> BatchBuilder:
    lengths = np.arange(ROWS) % 11 + 1
    tokens = np.arange(1, lengths.sum() + 1, dtype=np.int32)
    return BatchBuilder(tokens, np.concatenate([[0], lengths.cumsum()]), np.arange(ROWS) % 2, Truncation(9, "first"))


def shuffled_batches(batch_size: int = BATCH_SIZE) -> ShuffledBatches:
    builder = batch_builder()
    return ShuffledBatches(builder, partial(shuffled, builder.lengths, batch_size, 0, True, 0, 1))


def row_lists(batches: Any) -> list[list[int]]:
    return [batch.index.tolist() for batch in batches]


def rows(batches: list[list[int]]) -> list[int]:
    return sorted(row for batch in batches for row in batch)


def passes(number: int) -> list[list[list[int]]]:
    """The batches of the first epochs without interruption."""
    batches = shuffled_batches()
    return [row_lists(batches) for _ in range(number)]


def test_each_pass_is_the_next_epoch() -> None:
    first, second = passes(2)
    assert first != second
    assert rows(first) == rows(second) == list(range(ROWS))
    restarted = shuffled_batches()
    restarted.set_epoch(1)
    assert row_lists(restarted) == second


def test_a_state_within_an_epoch_does_not_resume_with_other_batches() -> None:
    batches = shuffled_batches()
    next(iter(batches))
    with pytest.raises(UserError, match="within an epoch of 8 batches"):
        shuffled_batches(batch_size=5).load_state_dict(batches.state_dict())


def test_a_finished_epoch_resumes_with_another_batch_size() -> None:
    batches = shuffled_batches()
    row_lists(batches)
    other = shuffled_batches(batch_size=2)
    other.load_state_dict(batches.state_dict())
    assert rows(row_lists(other)) == list(range(ROWS))
    assert other.epoch == 1


class RecordingModel(pl.LightningModule):
    """A model with one weight that records the rows of each batch by epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.rows_by_epoch: dict[int, list[list[int]]] = {}

    def training_step(self, batch: Batch, _: int) -> torch.Tensor:
        self.rows_by_epoch.setdefault(self.current_epoch, []).append(batch.index.tolist())
        return (self.weight - batch.labels.float().mean()).square().sum()

    def validation_step(self, batch: Batch, _: int) -> None:
        self.log("val/loss", self.weight.sum(), batch_size=len(batch.labels))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


class Data(pl.LightningDataModule):
    def train_dataloader(self) -> ShuffledBatches:
        return shuffled_batches()

    def val_dataloader(self) -> Batches:
        builder = batch_builder()
        return Batches(builder, by_length(builder.lengths, BATCH_SIZE, 0, 1))


class SaveAt(pl.Callback):
    """Saves a checkpoint in the method `hook` at a batch (counted from 0) of an epoch."""

    def __init__(self, path: Path, hook: str, epoch: int, batch: int = STEPS - 1) -> None:
        self.path, self.epoch, self.batch = path, epoch, batch
        setattr(self, hook, self.save)

    def save(self, trainer: pl.Trainer, *_: Any) -> None:
        position = (trainer.current_epoch, trainer.fit_loop.epoch_loop.batch_idx)
        if position == (self.epoch, self.batch) and not trainer.sanity_checking:
            trainer.save_checkpoint(self.path)


def fit(path: Path | None, *callbacks: pl.Callback, **options: Any) -> dict[int, list[list[int]]]:
    """Train for three epochs, from a checkpoint if there is one, and return the rows of each batch by epoch."""
    module = RecordingModel()
    trainer = pl.Trainer(
        accelerator="cpu",
        **{"max_epochs": 3, **options},
        callbacks=list(callbacks),
        logger=False,
        enable_checkpointing=any(isinstance(callback, ModelCheckpoint) for callback in callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
    )
    trainer.fit(module, Data(), ckpt_path=path, weights_only=True)
    return module.rows_by_epoch


class TestWithTrainer:
    @pytest.mark.parametrize("batch", [0, 4])
    def test_a_checkpoint_after_a_batch_resumes_with_the_next(self, tmp_path: Path, batch: int) -> None:
        path = tmp_path / "middle.ckpt"
        uninterrupted = fit(None, SaveAt(path, "on_train_batch_end", 1, batch))
        resumed = fit(path)
        assert resumed == {1: uninterrupted[1][batch + 1 :], 2: uninterrupted[2]}

    @pytest.mark.parametrize("hook", ["on_train_epoch_end", "on_validation_end", "on_train_batch_end"])
    def test_a_checkpoint_at_an_epochs_end_resumes_with_the_next_epoch(self, tmp_path: Path, hook: str) -> None:
        path = tmp_path / "end.ckpt"
        uninterrupted = fit(None, SaveAt(path, hook, 1))
        assert fit(path) == {2: uninterrupted[2]}

    @pytest.mark.parametrize("hook", ["on_train_epoch_end", "on_validation_end"])
    def test_an_epoch_cut_short_by_a_limit_is_followed_by_the_next(self, tmp_path: Path, hook: str) -> None:
        path = tmp_path / "end.ckpt"
        uninterrupted = fit(None, SaveAt(path, hook, 1, 2), limit_train_batches=3)
        assert uninterrupted == {epoch: batches[:3] for epoch, batches in enumerate(passes(3))}
        assert fit(path, limit_train_batches=3) == {2: uninterrupted[2]}

    def test_a_run_counted_in_steps_resumes_within_an_epoch(self, tmp_path: Path) -> None:
        path = tmp_path / "middle.ckpt"
        steps: dict[str, Any] = {"max_epochs": None, "max_steps": 2 * STEPS + 3}
        uninterrupted = fit(None, SaveAt(path, "on_train_batch_end", 1, 4), **steps)
        assert fit(path, **steps) == {1: uninterrupted[1][5:], 2: uninterrupted[2]}
