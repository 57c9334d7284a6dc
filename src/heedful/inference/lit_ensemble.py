"""Evaluate several trained models together, by the mean of their probabilities."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torchmetrics import Metric

from heedful.data.padded_batches import Batch
from heedful.data.source import source_of
from heedful.models.ensemble import Ensemble
from heedful.models.loss import plain_loss
from heedful.runs.checkpoint import Card
from heedful.training.lit import LitClassifier


class JointModel(nn.ModuleDict):
    """The models of an ensemble, with those attributes of a `Classifier` that an evaluation uses."""

    branch = None  # each model mixes in the logits of its own
    auxiliary_names = ()  # an evaluation has no training loss


class LitEnsemble(LitClassifier):
    """Evaluates an ensemble; the logits are the logarithms of the mean probabilities."""

    def __init__(self, ensemble: Ensemble, metrics: Mapping[str, Metric]) -> None:
        joint: Any = JointModel({f"model_{i}": member.model for i, member in enumerate(ensemble.members, 1)})
        card = _joint_card([member.card for member in ensemble.members])
        super().__init__(joint, plain_loss(ensemble.task, card.class_counts), metrics, card)
        self._ensemble, self.task = ensemble, ensemble.task

    def ensemble(self) -> Ensemble:
        return self._ensemble

    def logits(self, batch: Batch) -> Tensor:
        """Return the logits of a batch; models that read different tokens or columns encode its texts anew."""
        ensemble, total = self._ensemble, torch.zeros((), device=self.device)
        split = "test" if self.trainer.testing else "val"
        columns = [member.card.codec.columns for member in ensemble.members]
        is_shared = ensemble.shares_tokens and all(own == columns[0] for own in columns)
        rows = [] if is_shared else batch.index.tolist()
        table = source_of(self.trainer).table(split, rows)
        for member, order in zip(ensemble.members, ensemble.columns, strict=True):
            own = member.card.codec.builder(table, self.device)(np.arange(len(rows))) if rows else batch
            total = total + member.card.codec.task.probabilities(member.model(own.inputs))[:, order]
        further = len(self.task.outputs) - total.shape[-1]  # classes that no model has
        return self.task.logits(nn.functional.pad(total / len(ensemble.members), (0, further)))


def _joint_card(cards: Sequence[Card]) -> Card:
    """Return the first model's card, with the choices of all models joined, such as {"encoder": "bilstm+gru"}."""
    choices = [card.choices for card in cards]
    groups = dict.fromkeys(group for choice in choices for group in choice)
    joint = {group: "+".join(dict.fromkeys(choice.get(group, "none") for choice in choices)) for group in groups}
    return cards[0].model_copy(update={"config": {**cards[0].config, "choices": joint}})
