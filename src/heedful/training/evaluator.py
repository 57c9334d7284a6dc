"""The LightningModule that evaluates models: each metric is computed once from all texts of a split."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torchmetrics import Metric

from heedful.base.errors import UserError
from heedful.data.padded_batches import Batch
from heedful.data.source import source_of
from heedful.models.ensemble import Ensemble
from heedful.models.loss import Loss, plain_loss
from heedful.models.metrics import direction
from heedful.tasks.task import Task
from heedful.training.callbacks.stop import end_together


def require_batch(batch: Any) -> None:
    """Refuse the batches of loaders that do not encode texts as the model reads them."""
    if not isinstance(batch, Batch):
        raise UserError(
            f"a batch is a {type(batch).__name__}, not a heedful.data.padded_batches.Batch: let the DataLoader build "
            "batches from rows, with collate_fn=lambda rows: builder(np.array(rows)), where builder is "
            'data.builder("train") or card.codec.builder(texts)'
        )


class Evaluator(pl.LightningModule):
    """Validates and tests what `logits` returns; a subclass also has the `task` and the `loss` of these logits."""

    task: Task
    loss: Loss
    start = ""  # what the initial weights are, if they come from another model

    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        super().__init__()
        self.metrics = dict(metrics)  # a plain dict, because they stay on the CPU
        self.scores: dict[str, float] = {}  # the last value of each metric, by names such as val/acc; NaN if undefined
        # the texts of the last evaluation, in the order of the split: n×C probabilities, n labels, n index
        self.evaluated: dict[str, np.ndarray] = {}
        # by loader, of the present evaluation in this process; the loss is summed over the texts of a batch
        self._batches: dict[int, list[dict[str, Tensor]]] = {}
        self._texts: int | None = None  # in the present batch

    def logits(self, batch: Batch) -> Tensor:
        """Return the logits of a batch, N×num_logits."""
        return self(batch.inputs)

    def known_logits(self, number: int, loader: int, batch: Batch) -> Tensor | None:
        """Return the logits of a batch of a validation that were computed before; None if they were not."""
        return None

    def ensemble(self) -> Ensemble:
        """Return the models with their tokenizers, which show the attention weight of each word."""
        raise NotImplementedError

    def log(self, *args: Any, **options: Any) -> None:
        """Log a value; for means over an epoch, Lightning cannot tell how many texts a batch without columns has."""
        super().log(*args, **{**options, "batch_size": options.get("batch_size") or self._texts})

    def on_validation_epoch_start(self) -> None:
        self._batches = {}  # an evaluation that was interrupted leaves batches

    on_test_epoch_start = on_validation_epoch_start

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        require_batch(batch)
        self._texts = len(batch.targets)
        logits = self.known_logits(batch_idx, dataloader_idx, batch)
        logits = self.logits(batch) if logits is None else logits
        columns = {"probabilities": self.task.probabilities(logits).float(), "labels": batch.targets}
        columns |= {"index": batch.index, "loss": self.loss(logits, self.task.scaled(batch.targets)) * self._texts}
        self._batches.setdefault(dataloader_idx, []).append(columns)

    test_step = validation_step

    def on_validation_epoch_end(self) -> None:
        self._log_metrics("val")

    def on_test_epoch_end(self) -> None:
        self._log_metrics("test")

    def learn(self) -> None:
        """Learn from the texts that were evaluated, before they are scored."""

    def _log_metrics(self, stage: str) -> None:
        """Log the scores of the texts of each loader: of the first as val/acc, as callbacks monitor them."""
        self._texts = None
        for loader in sorted(self._batches):
            batches, suffix = self._batches.pop(loader), f"/dataloader_idx_{loader}" if loader else ""
            losses, texts = [batch.pop("loss") for batch in batches], sum(len(batch["index"]) for batch in batches)
            total = torch.stack([sum(losses, torch.zeros((), device=self.device)), losses[0].new_tensor(texts)])
            loss, count = self.trainer.strategy.reduce(total, reduce_op="sum")
            self.log(f"{stage}/loss{suffix}", loss / count, prog_bar=True, add_dataloader_idx=False)
            evaluated = self._collect(batches)
            if loader == 0:
                self.evaluated = evaluated
                self.learn()
            probabilities, labels = (torch.from_numpy(evaluated[name]) for name in ("probabilities", "labels"))
            values = {}
            for name, metric in self.metrics.items():
                values[f"{stage}/{name}{suffix}"] = float(metric(probabilities, labels))  # in this process alone
                metric.reset()
            self.scores |= values
            defined = {name: value for name, value in values.items() if not math.isnan(value)}
            self.log_dict(defined, add_dataloader_idx=False)

    def _collect(self, batches: list[dict[str, Tensor]]) -> dict[str, np.ndarray]:
        """Return the texts that all processes evaluated, in the order of the split.

        A text that a distributed sampler gives to several processes counts once; rows that a process reads again count.
        """
        columns = {name: torch.cat([batch[name] for batch in batches]).cpu().numpy() for name in batches[0]}
        rows = np.argsort(columns["index"], kind="stable")
        if self.trainer.world_size > 1:
            shards: list[Any] = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(shards, columns)
            if any(len(np.unique(shard["index"])) < len(shard["index"]) for shard in shards):
                reason = "a process read an index twice, so nothing tells which texts the processes share"
                end_together(self.trainer, UserError(f"{reason}: evaluate with one device, or with distinct indices"))
            columns = {name: np.concatenate([shard[name] for shard in shards]) for name in columns}
            rows = np.unique(columns["index"], return_index=True)[1]
        return {name: values[rows] for name, values in columns.items()}

    def monitoring(self) -> list[Any]:
        """Return the callbacks that monitor a logged value."""
        callbacks: list[Any] = self.trainer.callbacks  # type: ignore[attr-defined]
        return [callback for callback in callbacks if isinstance(getattr(callback, "monitor", None), str)]

    def direction(self, name: str) -> str | None:
        """Return the better direction of a logged value, min or max: the metric's, else that of who monitors it."""
        modes = {watcher.monitor: getattr(watcher, "mode", None) for watcher in self.monitoring()}
        return direction(name, self.metrics, self.task) or modes.get(name)


class LitEnsemble(Evaluator):
    """Evaluates an ensemble; the logits of several models are the logarithms of the mean probabilities."""

    def __init__(self, ensemble: Ensemble, metrics: Mapping[str, Metric]) -> None:
        super().__init__(metrics)
        self._ensemble, self.task, first = ensemble, ensemble.task, ensemble.members[0]
        self.models = nn.ModuleList(member.model for member in ensemble.members)
        self.is_single = len(ensemble.members) == 1 and self.task.outputs == first.card.codec.task.outputs
        self.loss = first.loss if self.is_single else plain_loss(self.task, first.card.class_counts)

    def ensemble(self) -> Ensemble:
        return self._ensemble

    def logits(self, batch: Batch) -> Tensor:
        """Return the logits of a batch; models that read different tokens or columns encode its texts anew."""
        ensemble, total = self._ensemble, torch.zeros((), device=self.device)
        if self.is_single:
            return self.models[0](batch.inputs)
        columns = [member.card.codec.columns for member in ensemble.members]
        is_shared = ensemble.shares_tokens and all(names == columns[0] for names in columns)
        rows = [] if is_shared else batch.index.tolist()
        table = source_of(self.trainer).table("test" if self.trainer.testing else "val", rows)
        for member, order in zip(ensemble.members, ensemble.columns, strict=True):
            encoded = member.card.codec.builder(table, self.device)(np.arange(len(rows))) if rows else batch
            total = total + member.card.codec.task.probabilities(member.model(encoded.inputs))[:, order]
        further = len(self.task.outputs) - total.shape[-1]  # classes that no model has
        return self.task.logits(nn.functional.pad(total / len(ensemble.members), (0, further)))
