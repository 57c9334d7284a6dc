"""A table of the model's components."""

import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelSummary
from rich import box
from rich.table import Table

from src.console import OutputConsole


class PartsSummary(ModelSummary):
    """Prints each component's class, number of output features, and numbers of parameters and trained parameters."""

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if not trainer.is_global_zero:
            return
        table = Table(box=box.SIMPLE_HEAD)
        for column in ("component", "class"):
            table.add_column(column)
        for column in ("features", "parameters", "trained"):
            table.add_column(column, justify="right")
        total, trained = 0, 0
        for name, component in pl_module.model.named_children():  # type: ignore[union-attr]
            count = sum(p.numel() for p in component.parameters())
            trainable = sum(p.numel() for p in component.parameters() if p.requires_grad)
            total, trained = total + count, trained + trainable
            features = str(getattr(component, "output_dim", ""))
            table.add_row(name, type(component).__name__, features, f"{count:,}", f"{trainable:,}")
        table.add_section()
        table.add_row("", "", "", f"{total:,}", f"{trained:,}")
        OutputConsole().print(table)
