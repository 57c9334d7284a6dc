"""A callback that lets early stopping wait for a network that a linear branch still outweighs."""

import math
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import EarlyStopping


class NetworkPatience(pl.Callback):
    """Lets early stopping count a validation as an improvement in which only the network improved, unused until now.

    While the branch has all the weight, the predictions do not change, nor does what early stopping monitors. The loss
    of the network alone, `val/network_loss`, shows whether it still learns. This callback precedes early stopping.
    """

    def __init__(self) -> None:
        self.lowest = math.inf  # the loss of the network alone

    def state_dict(self) -> dict[str, Any]:
        return {"lowest": self.lowest}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.lowest = state_dict["lowest"]

    def on_validation_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        loss = float(trainer.callback_metrics.get("val/network_loss", math.inf))
        if trainer.sanity_checking or loss >= self.lowest:
            return
        self.lowest = loss
        callbacks: list[Any] = trainer.callbacks  # type: ignore[attr-defined]
        for callback in callbacks if pl_module.model.branch.weight == 1 else ():
            if isinstance(callback, EarlyStopping):
                callback.wait_count = -1  # the check that follows adds 1
