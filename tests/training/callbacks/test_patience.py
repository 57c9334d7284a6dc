"""Early stopping waits for a network that a linear branch still outweighs."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.trainer.states import TrainerFn

from heedful.training.callbacks.patience import NetworkPatience


@pytest.mark.parametrize("resumed", [None, 2, 3])
@pytest.mark.parametrize(
    ("losses", "weights", "stops_after"),
    [
        ([3.0, 2.0, 2.5, 1.0, 0.5, 0.4], [1, 1, 1, 1, 0.9, 0.9], 6),
        ([3.0, 2.0, 2.5, 2.4, 1.0], [1, 1, 1, 1, 1], 4),
        ([3.0, 2.0, 1.0], [0.5, 0.5, 0.5], 3),
    ],
)
def test_epochs_count_while_only_the_network_improves(
    losses: list[float], weights: list[float], stops_after: int, resumed: int | None
) -> None:
    """The monitored loss never changes; the patience is 2."""
    callbacks: list[Any] = [NetworkPatience(), EarlyStopping("val/loss", patience=2, check_on_train_epoch_end=False)]
    for epoch, (loss, weight) in enumerate(zip(losses, weights, strict=True), 1):
        trainer: Any = SimpleNamespace(
            callback_metrics={"val/loss": torch.tensor(1.0), "val/network_loss": torch.tensor(loss)},
            callbacks=callbacks,
            state=SimpleNamespace(fn=TrainerFn.FITTING),
            sanity_checking=False,
            fast_dev_run=False,
            should_stop=False,
            current_epoch=epoch,
            strategy=SimpleNamespace(reduce_boolean_decision=lambda decision, all: decision),
        )
        module: Any = SimpleNamespace(model=SimpleNamespace(branch=SimpleNamespace(weight=torch.tensor(weight))))
        for callback in callbacks:
            callback.on_validation_end(trainer, module)
        assert trainer.should_stop == (epoch >= stops_after)
        if trainer.should_stop:
            return
        if epoch == resumed:
            states = [callback.state_dict() for callback in callbacks]
            callbacks = [NetworkPatience(), EarlyStopping("val/loss", patience=2, check_on_train_epoch_end=False)]
            for callback, state in zip(callbacks, states, strict=True):
                callback.load_state_dict(state)
