"""What is about to be trained, part by part."""

import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelSummary
from rich import box
from rich.console import Console
from rich.table import Table


class PartsSummary(ModelSummary):
    """Prints each part of the classifier, its kind, the features it gives and its parameters."""

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if not trainer.is_global_zero:
            return
        table = Table(box=box.SIMPLE_HEAD)
        for column in ("part", "kind", "features", "parameters", "trained"):
            table.add_column(column, justify="left" if column in ("part", "kind") else "right")
        total, trained = 0, 0
        for name, part in pl_module.model.named_children():  # type: ignore[union-attr]
            count = sum(p.numel() for p in part.parameters())
            learning = sum(p.numel() for p in part.parameters() if p.requires_grad)
            total, trained = total + count, trained + learning
            features = str(getattr(part, "output_dim", ""))
            table.add_row(name, type(part).__name__, features, f"{count:,}", f"{learning:,}")
        table.add_section()
        table.add_row("", "", "", f"{total:,}", f"{trained:,}")
        Console().print(table)
