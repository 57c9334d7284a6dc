"""Texts and seconds of whole training epochs."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from heedful.training.callbacks.speed import Speed


def run_epoch(speed: Speed, sizes: list[int], seconds: float, clock: Mock, is_complete: bool = True) -> None:
    progress = SimpleNamespace(is_last_batch=False)
    trainer: Any = SimpleNamespace(fit_loop=SimpleNamespace(epoch_loop=SimpleNamespace(batch_progress=progress)))
    speed.on_train_epoch_start(trainer, Mock())
    clock.return_value += seconds
    for number, size in enumerate(sizes):
        progress.is_last_batch = is_complete and number == len(sizes) - 1
        batch: Any = SimpleNamespace(targets=torch.zeros(size))
        speed.on_train_batch_end(trainer, Mock(), {"loss": torch.tensor(1.0)}, batch, number)
    clock.return_value += 100  # validation


def test_only_complete_epochs_are_measured_without_their_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Mock(return_value=5.0)
    monkeypatch.setattr("heedful.training.callbacks.speed.time.perf_counter", clock)
    speed = Speed()
    assert speed.texts_per_second is None
    run_epoch(speed, [3, 3, 2], 2.0, clock)
    run_epoch(speed, [4, 4], 8.0, clock)
    run_epoch(speed, [4], 1.0, clock, is_complete=False)
    assert speed.epochs == [(8, 2.0), (8, 8.0)]
    assert speed.texts_per_second == 1.6
