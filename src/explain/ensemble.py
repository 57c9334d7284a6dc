"""Ensembles average the probabilities of several trained models; a single model is an ensemble of one."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from src.data.batch_order import by_length
from src.data.codec import Codec
from src.errors import UserError, name_file
from src.explain.explanation import Explanation, explain, known_tokens
from src.formatting import format_list
from src.models.classifier import Classifier
from src.models.loss import Loss

log = logging.getLogger(__name__)


class Member(NamedTuple):
    """A trained model of an ensemble."""

    name: str  # name of the checkpoint, for messages
    model: Classifier
    loss: Loss
    codec: Codec


class Ensemble:
    """Trained models of the same classes; each encodes the texts with its own tokenizer.

    Args:
        members: at least one model. Classes are matched by name, and have the order of the first model's classes.

    Raises:
        UserError: if the classes of two models differ.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = list(members)
        first = self.members[0]
        self.class_names = first.codec.class_names
        for member in self.members:
            if set(member.codec.class_names) != set(self.class_names):
                raise UserError(
                    f"ckpt_path: the classes of {member.name}, {format_list(member.codec.class_names, plain=True)}, "
                    f"are not the classes of {first.name}, {format_list(self.class_names, plain=True)}; an ensemble "
                    "needs models with the same classes"
                )
        # for each member, the column of each class in its probabilities
        self.columns = [[member.codec.class_names.index(name) for name in self.class_names] for member in self.members]
        self.shares_tokens = all(member.codec.reads_as(first.codec) for member in self.members)

    def explain(self, texts: Sequence[str], batch_size: int = 32, maps: bool = True) -> list[Explanation]:
        """Classify texts and return an explanation of each.

        If all models read the same tokens, `weights` and `matrix` are means over the models; otherwise they come from
        the first model. The matrix of an ensemble of several models is also averaged over heads, and is None if one of
        the averaged models has none. `words`, `layers` and `cut` always come from the first model. `is_unknown` is true
        if no model knows any word of the text.
        """
        by_member = []
        for member in self.members:
            with name_file(member.name):
                by_member.append(explain(member.model, member.loss, member.codec, texts, batch_size, maps))
        if texts and not self.shares_tokens:
            log.warning(
                "The models split texts into different tokens: attention weights are those of %s", self.members[0].name
            )
        return [self._combine(explanations) for explanations in zip(*by_member, strict=True)]

    def _combine(self, explanations: Sequence[Explanation]) -> Explanation:
        first = explanations[0]
        if len(explanations) == 1:
            return first
        probabilities = np.mean(
            [np.array(each.probabilities)[columns] for each, columns in zip(explanations, self.columns, strict=True)], 0
        )
        shared = explanations if self.shares_tokens else explanations[:1]
        maps = [each.matrix.mean(0, keepdims=True) for each in shared if each.matrix is not None]
        return replace(
            first,
            predicted=self.class_names[int(probabilities.argmax())],
            probabilities=probabilities.tolist(),
            weights=np.mean([each.weights for each in shared], 0).tolist(),
            matrix=np.mean(maps, 0) if len(maps) == len(shared) else None,
            is_unknown=all(each.is_unknown for each in explanations),
        )

    @torch.inference_mode()
    def classify(self, texts: Sequence[str], batch_size: int = 32) -> tuple[np.ndarray, np.ndarray]:
        """Classify N texts without attention weights.

        Returns:
            Probabilities N×C, and for each text whether no model knows any of its tokens, N bool.
        """
        total = np.zeros((len(texts), len(self.class_names)))
        is_unknown = np.ones(len(texts), dtype=bool)
        for member, columns in zip(self.members, self.columns, strict=True):
            member.model.eval()
            device = next(member.model.parameters()).device
            with name_file(member.name):
                batches = member.codec.builder(texts, device)
            for rows in by_length(batches.lengths, batch_size, rank=0, world_size=1):
                batch = batches(rows)
                probabilities = member.loss.probabilities(member.model(batch.tokens, batch.mask))
                total[rows] += probabilities[:, columns].double().cpu().numpy()
                known = known_tokens(member.model, member.codec, batch)
                is_unknown[rows] &= ~known.any(1).cpu().numpy()
        return total / len(self.members), is_unknown
