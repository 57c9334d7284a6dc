"""The first loss that is not finite is reported at any interval between checks."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from src.callbacks.finite_loss import FiniteLoss
from src.errors import UserError

BATCHES = 7


def pass_losses(losses: list[float], every_n_steps: int) -> int:
    """Pass the losses to the callback, and return the number of batches."""
    callback = FiniteLoss(every_n_steps)
    progress = SimpleNamespace(is_last_batch=False)
    loop = SimpleNamespace(epoch_loop=SimpleNamespace(batch_progress=progress))
    trainer: Any = SimpleNamespace(fit_loop=loop, current_epoch=2)
    module: Any = None
    callback.on_train_start(trainer, module)
    for number, loss in enumerate(losses):
        progress.is_last_batch = number == BATCHES - 1
        callback.on_train_batch_end(trainer, module, {"loss": torch.tensor(loss)}, None, number)
    return len(losses)


@pytest.mark.parametrize("every_n_steps", [1, 3, 25])
@pytest.mark.parametrize("index", [0, 2, 3, 6])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_the_first_nonfinite_batch_is_reported(every_n_steps: int, index: int, value: float) -> None:
    losses = [0.5] * index + [value] * (BATCHES - index)
    with pytest.raises(UserError, match=f"the loss became {value} at batch {index + 1} of epoch 3"):
        pass_losses(losses, every_n_steps)


@pytest.mark.parametrize("every_n_steps", [1, 3, 25])
def test_finite_losses_do_not_stop_training(every_n_steps: int) -> None:
    assert pass_losses([0.5, 1e30, -3.0, 0.0, 1e-30, 2.0, 1.0], every_n_steps) == BATCHES
