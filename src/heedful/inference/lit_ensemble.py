"""Evaluate trained models, several together by the mean of their probabilities."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torchmetrics import Metric

from heedful.data.padded_batches import Batch
from heedful.data.source import source_of
from heedful.models.ensemble import Ensemble
from heedful.models.loss import plain_loss
from heedful.training.evaluator import Evaluator


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
            logits: Tensor = self.models[0](batch.inputs)
            return logits
        columns = [member.card.codec.columns for member in ensemble.members]
        is_shared = ensemble.shares_tokens and all(own == columns[0] for own in columns)
        rows = [] if is_shared else batch.index.tolist()
        table = source_of(self.trainer).table("test" if self.trainer.testing else "val", rows)
        for member, order in zip(ensemble.members, ensemble.columns, strict=True):
            own = member.card.codec.builder(table, self.device)(np.arange(len(rows))) if rows else batch
            total = total + member.card.codec.task.probabilities(member.model(own.inputs))[:, order]
        further = len(self.task.outputs) - total.shape[-1]  # classes that no model has
        return self.task.logits(nn.functional.pad(total / len(ensemble.members), (0, further)))
