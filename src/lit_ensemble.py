"""Evaluate several trained models together, by the mean of their probabilities."""

import logging
from collections.abc import Sequence
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor, nn
from torchmetrics import MetricCollection

from src import build
from src.api import with_data
from src.checkpoint import Card
from src.data.padded_batches import Batch, BatchBuilder
from src.explain import Ensemble
from src.lit import LitClassifier
from src.models.component import Embedding
from src.models.loss import CrossEntropy

log = logging.getLogger(__name__)


class JointModel(nn.ModuleDict):
    """The models of an ensemble, with those attributes of a `Classifier` that an evaluation uses."""

    branch = None  # each model mixes in the logits of its own

    def __init__(self, ensemble: Ensemble) -> None:
        super().__init__({f"model_{number}": member.model for number, member in enumerate(ensemble.members, start=1)})
        readers = ensemble.members if ensemble.shares_tokens else ensemble.members[:1]
        self._readers = [member.model for member in readers]

    @property
    def embedding(self) -> Embedding:
        """The embedding of the first model."""
        return self._readers[0].embedding

    def token_weights(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return attention weights N×L.

        If all models read the same tokens, these are means over the models; otherwise, they are the first model's.
        """
        return torch.stack([model.token_weights(tokens, mask) for model in self._readers]).mean(0)


class LitEnsemble(LitClassifier):
    """Evaluates an ensemble; the logits are the logarithms of the mean probabilities.

    Args:
        builders: for each model, a builder of batches of the evaluated split; None if the model reads the same tokens
            as the first model.
    """

    def __init__(self, ensemble: Ensemble, builders: Sequence[BatchBuilder | None], metrics: MetricCollection) -> None:
        joint: Any = JointModel(ensemble)
        card = _joint_card([member.card for member in ensemble.members])
        super().__init__(joint, CrossEntropy(card.class_counts), metrics, card)
        self._ensemble = ensemble
        self._builders = list(builders)

    def ensemble(self) -> Ensemble:
        return self._ensemble

    def logits(self, batch: Batch) -> Tensor:
        rows = batch.index.cpu().numpy()
        total = torch.zeros((), device=self.device)
        for member, columns, builder in zip(
            self._ensemble.members, self._ensemble.columns, self._builders, strict=True
        ):
            own = batch if builder is None else builder(rows)
            logits = member.model(own.tokens.to(self.device), own.mask.to(self.device))
            total = total + member.loss.probabilities(logits)[:, columns]
        mean = total / len(self._builders)
        return mean.clamp_min(torch.finfo(mean.dtype).tiny).log()


def own_batches(cfg: DictConfig, ensemble: Ensemble) -> list[BatchBuilder | None]:
    """Return the `builders` of a `LitEnsemble` for the split `cfg.split` of the data that `cfg` selects.

    Models of other data or splits than those of the first model cause a warning: they may have been trained on texts
    that are now evaluated.
    """
    first, *others = ensemble.members
    builders: list[BatchBuilder | None] = [None]
    for member in others:
        if _trained_on(member.card) != _trained_on(first.card):
            message = "%s was trained on other data than %s: its training texts may include the evaluated texts"
            log.warning(message, member.name, first.name)
        if member.codec.reads_as(first.codec):
            builders.append(None)
        else:
            data = build.datamodule(with_data(cfg, first.card), member.codec)
            split = data.tokenized(cfg.split)
            builders.append(BatchBuilder(split.tokens, split.offsets, split.labels, data.truncation))
    return builders


def _trained_on(card: Card) -> tuple[str, Any]:
    return card.fingerprint, card.config["data"].get("fold")


def _joint_card(cards: Sequence[Card]) -> Card:
    """Return the first model's card, with the choices of all models joined, such as {"encoder": "bilstm+gru"}."""
    choices = [card.choices for card in cards]
    groups = dict.fromkeys(group for choice in choices for group in choice)
    joint = {group: "+".join(dict.fromkeys(choice.get(group, "none") for choice in choices)) for group in groups}
    return cards[0].model_copy(update={"config": {**cards[0].config, "choices": joint}})
