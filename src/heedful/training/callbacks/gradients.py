"""Gradient norms of each component, which show vanishing and exploding gradients."""

from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import pytorch_lightning as pl
import torch
from pydantic import Field
from pytorch_lightning.loggers import CSVLogger
from torch import Tensor
from torch.optim import Optimizer

from heedful.base.files import write_text


class GradientNorms(pl.Callback):
    """Writes the L2 norm of each component's unclipped gradient to a CSV file and to all loggers except CSV loggers.

    The columns of the file are step, part and norm. Norms are copied from the device once per epoch.
    """

    def __init__(self, path: str, every_n_steps: Annotated[int, Field(ge=1)] = 10) -> None:
        self.path = Path(path)
        self.every_n_steps = every_n_steps
        self._measured: list[tuple[int, str, Tensor]] = []

    def state_dict(self) -> dict[str, Any]:
        """Return the norms of the unfinished epoch, so that a run can resume within this epoch."""
        return {"measured": [(step, part, norm.item()) for step, part, norm in self._measured]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._measured = [(step, part, torch.tensor(norm)) for step, part, norm in state_dict["measured"]]

    def on_before_optimizer_step(self, trainer: pl.Trainer, pl_module: Any, optimizer: Optimizer) -> None:
        if trainer.global_step % self.every_n_steps:
            return
        for name, component in pl_module.model.named_children():
            stored = [parameter.grad for parameter in component.parameters() if parameter.grad is not None]
            if gradients := [grad.coalesce().values() if grad.is_sparse else grad for grad in stored]:
                self._measured.append((trainer.global_step, name, torch.nn.utils.get_total_norm(gradients)))

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        measured, self._measured = self._measured, []
        if not measured or not trainer.is_global_zero:
            return
        norms = torch.stack([norm.to(measured[-1][2].device) for *_, norm in measured]).tolist()
        rows = [(step, part, norm) for (step, part, _), norm in zip(measured, norms, strict=True)]
        earlier = self.path.read_text(encoding="utf-8") if self.path.exists() else "step,part,norm\n"
        write_text(self.path, earlier + "".join(f"{step},{part},{norm:.6g}\n" for step, part, norm in rows))
        for logger in trainer.loggers:
            if not isinstance(logger, CSVLogger):  # a CSV logger would repeat the file at `path`
                for step, step_rows in groupby(rows, key=itemgetter(0)):
                    logger.log_metrics({f"gradients/{part}": norm for _, part, norm in step_rows}, step)
