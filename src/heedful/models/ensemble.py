"""Predictions for texts with the attention weight of each word, by one trained model or the mean of several."""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from heedful.base.errors import UserError, name_file
from heedful.base.formatting import format_list
from heedful.data.padded_batches import BatchBuilder, Inputs, by_length
from heedful.data.table import Table, Text
from heedful.kernels.threads import use_threads
from heedful.models.classifier import Classifier, mean_weights
from heedful.models.loss import Loss
from heedful.runs.checkpoint import Card
from heedful.runs.examples import BranchWords, Example
from heedful.runtime import PLAIN, NumberForm

HEADS_WORDS = 64  # maximum number of words of a text that gets a map for each head, and maps of the encoder's layers
# tokens × weights; below, two threads gain little, and cost much beside other busy processes (docs/performance.md)
SMALL_BATCH = 1.5e8
SPARSE = ("embedding.", "branch.")  # parts of a model of whose weights a token needs few
MAP_WORDS = 512  # maximum number of words of a text that gets a map

log = logging.getLogger(__name__)


class Member(NamedTuple):
    """A trained model of an ensemble."""

    name: str  # path of the checkpoint, for messages; empty during training
    card: Card
    model: Classifier
    loss: Loss

    def threads(self, lengths: np.ndarray, batch_size: int) -> int:
        """Return how many CPU threads classify texts of these numbers of tokens: at most the training's and torch's."""
        most = torch.get_num_threads()
        tokens = lengths.sum() / max(1, -(-len(lengths) // batch_size))  # of a batch
        return min(most, self.card.threads or most) if tokens * self.weights >= SMALL_BATCH else 1

    @property
    def weights(self) -> int:
        """The number of weights that each token needs."""
        return sum(weight.numel() for name, weight in self.model.named_parameters() if not name.startswith(SPARSE))


class Ensemble:
    """Trained models of the same classes, whose probabilities are averaged; a single model is an ensemble of one.

    Each model encodes the texts with its own tokenizer. Classes are matched by name, and have the order of the first
    model's classes.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = list(members)
        first = self.members[0]
        self.task = first.card.codec.task
        kinds = [(member.card.codec.task.targets, set(member.card.codec.task.outputs)) for member in self.members]
        if any(kind != kinds[0] for kind in kinds):
            outputs = [
                f"{member.name} predicts {member.card.codec.task.targets} for each text, of "
                f"{format_list(member.card.codec.task.outputs, plain=True)}"
                for member, kind in zip(self.members, kinds, strict=True)
                if member is first or kind != kinds[0]
            ]
            raise UserError(f"ckpt_path: an ensemble needs models of the same task and classes: {'; '.join(outputs)}")
        for member in self.members:
            member.card.codec.check(self.reads_pairs, f"ckpt_path: {first.name} and {member.name}")
        # for each member, the column of each class in its probabilities
        self.columns = [
            [member.card.codec.task.outputs.index(name) for name in self.task.outputs] for member in self.members
        ]
        self.task = self.task.joint([member.card.codec.task for member in self.members])
        self.shares_tokens = all(member.card.codec.reads_as(first.card.codec) for member in self.members)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, in the order of the probabilities."""
        return self.task.classes

    @property
    def parts(self) -> dict[str, nn.Module]:
        """The components of a single model, or the models of several, by name."""
        models: dict[str, nn.Module] = {f"model_{i}": member.model for i, member in enumerate(self.members, 1)}
        return models if len(models) > 1 else dict(models["model_1"].named_children())

    @property
    def choices(self) -> dict[str, str]:
        """The choices of the models, joined, such as {"encoder": "bilstm+gru"}."""
        choices = [member.card.choices for member in self.members]
        groups = dict.fromkeys(group for choice in choices for group in choice)
        return {group: "+".join(dict.fromkeys(choice.get(group, "none") for choice in choices)) for group in groups}

    @property
    def reads_pairs(self) -> bool:
        """Whether each text is a pair."""
        return self.members[0].card.codec.pairs

    @property
    def column_names(self) -> list[str]:
        """The names of the columns that the models read beside the text."""
        return list(dict.fromkeys(column.name for member in self.members for column in member.card.codec.columns))

    @property
    def numbers(self) -> NumberForm:
        """How texts write the numbers of the columns."""
        forms = {member.card.codec.numbers for member in self.members if member.card.codec.columns}
        if len(forms) > 1:
            raise UserError("ckpt_path: the models read numbers with different data.decimal or data.thousands")
        return next(iter(forms), PLAIN)

    def check(self, table: Table) -> Counter[str]:
        """Return how many cells of each column are of categories without training texts; refuse unreadable texts."""
        unseen = Counter[str]()
        for member in self.members:
            _, coverage = member.card.codec.encode_columns(member.card.codec.checked(table))
            unseen |= Counter({name: found.unseen for name, found in coverage.items()})
        return unseen

    @torch.inference_mode()
    def classify(self, texts: Table | Sequence[Text], batch_size: int = 32) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities N×C of texts, and for each whether no model knows any of its tokens, N bool."""
        total = np.zeros((len(texts), len(self.task.outputs)))
        is_unknown = np.ones(len(texts), dtype=bool)
        for member, columns in zip(self.members, self.columns, strict=True):
            model = member.model.eval()
            with name_file(member.name):
                batches = member.card.codec.builder(texts, next(model.parameters()).device)
                with use_threads(member.threads(batches.lengths, batch_size)):
                    for rows in by_length(batches.lengths, batch_size, rank=0, world_size=1):
                        inputs = batches(rows).inputs
                        probabilities = _finite(member.card.codec.task.probabilities(model(inputs)))
                        total[rows, : len(columns)] += probabilities[:, columns].cpu().double().numpy()
                        is_unknown[rows] &= ~_has_known_token(member, inputs)
        return total / len(self.members), is_unknown

    def token_weights(self, inputs: Inputs) -> torch.Tensor:
        """Return attention weights N×L: means over the models if they read the same tokens, or the first model's."""
        readers = self.members if self.shares_tokens else self.members[:1]
        return torch.stack([member.model.token_weights(inputs) for member in readers]).mean(0)

    def time_texts(self, texts: Table, batch_size: int = 32) -> float:
        """Return the milliseconds of CPU time that a text takes, a mean over these texts in batches."""
        self.classify(texts, batch_size)  # the first call prepares
        before = time.process_time()
        self.classify(texts, batch_size)
        return 1000 * (time.process_time() - before) / len(texts)

    def examples(self, texts: Table | Sequence[Text], batch_size: int = 32, maps: bool = True) -> list[Example]:
        """Classify texts, and return each text's prediction with the attention weight of each word.

        If all models read the same tokens, the weights and `matrix` are means over the models; otherwise they come from
        the first model. The matrix of an ensemble of several models is also averaged over heads, and is None if one of
        the averaged models has none. Words, layers and `cut` always come from the first model. The shares of the words
        in a linear branch are those of a single model.

        Args:
            maps: whether to include the word × word weights: those of the attention component for texts of 2 to 512
                words, averaged over heads from 65 words on, and those of the encoder's layers for up to 64 words.
        """
        by_member = [_explain(member, texts, batch_size, maps) for member in self.members]
        if len(self.members) == 1:
            return by_member[0]
        if len(texts) and not self.shares_tokens:
            log.warning(
                "The models split texts into different tokens: attention weights are those of %s", self.members[0].name
            )
        return [self._combine(examples) for examples in zip(*by_member, strict=True)]

    def _combine(self, examples: Sequence[Example]) -> Example:
        names = self.task.outputs  # an evaluation may add classes that no model has
        probabilities = np.mean([[example.probabilities.get(name, 0.0) for name in names] for example in examples], 0)
        shared = examples if self.shares_tokens else examples[:1]
        maps = [example.matrix.mean(0, keepdims=True) for example in shared if example.matrix is not None]
        predicted = self.task.predicted(probabilities[None])
        per_class = self.class_names if all(example.class_weights for example in shared) else ()
        return replace(
            examples[0],
            predicted=self.task.decode(predicted)[0],
            value=self.task.values(predicted)[0],
            confidence=float(self.task.confidence(probabilities[None])[0]),
            probabilities=dict(zip(names, probabilities.tolist(), strict=True)),
            weights=np.mean([example.weights for example in shared], 0),
            class_weights={name: np.mean([example.class_weights[name] for example in shared], 0) for name in per_class},
            matrix=np.mean(maps, 0) if len(maps) == len(shared) else None,
            is_unknown=all(example.is_unknown for example in examples),
            branch=None,
        )


@torch.inference_mode()
def _explain(member: Member, texts: Table | Sequence[Text], batch_size: int, maps: bool) -> list[Example]:
    examples: dict[int, Example] = {}
    with name_file(member.name):
        batches, words = member.card.codec.read(texts, next(member.model.eval().parameters()).device)
        with use_threads(member.threads(batches.lengths, batch_size)):
            for rows in by_length(batches.lengths, batch_size, rank=0, world_size=1):
                examples |= _explain_batch(member, batches, words, rows, maps)
    return [examples[row] for row in range(len(texts))]


def _explain_batch(
    member: Member, batches: BatchBuilder, words: Sequence[list[str]], rows: np.ndarray, maps: bool
) -> dict[int, Example]:
    """Return the example of each row of a batch, by its row."""
    model, codec, per_class = member.model, member.card.codec, member.model.attention.per_class
    inputs, examples = batches(rows).inputs, {}
    logits, weights = model.forward_with_weights(inputs)
    probabilities = _finite(codec.task.probabilities(logits)).cpu()  # N×C
    weights = _finite(weights.float())  # N×H×T×L
    predicted = codec.task.predicted(probabilities)
    labels, values = codec.task.decode(predicted), codec.task.values(predicted)
    confidence = codec.task.confidence(probabilities.numpy()).tolist()
    means = mean_weights(weights).cpu().double().numpy()  # N×L
    by_class = weights[:, :, 0].cpu().double().numpy()  # N×C×L if the attention is `per_class`
    has_known_token = _has_known_token(member, inputs)
    if (branch := model.used_branch) is not None:
        likeliest = probabilities.argmax(1).to(inputs.ids.device)
        shares = _finite(branch.contributions(inputs, likeliest)).cpu().double().numpy()  # N×L
    measure = "log odds" if codec.task.has_classes else "number"
    for i, row in enumerate(rows.tolist()):
        size = len(words[row])
        matrix, layers = None, {}
        if maps and model.attention.per_token and 1 < size <= MAP_WORDS:
            heads = weights[i, :, :size, :size]  # H×L×L
            matrix = (heads if size <= HEADS_WORDS else heads.mean(0, keepdim=True)).cpu().numpy()
        if maps and 1 < size <= HEADS_WORDS:
            stacks = model.layer_weights(inputs.of_text(i, size))
            layers = {name: stack[0].float().cpu().numpy() for name, stack in stacks.items()}
        examples[row] = Example(
            split="text",
            index=row,
            label=None,
            predicted=labels[i],
            confidence=confidence[i],
            probabilities=dict(zip(codec.task.outputs, probabilities[i].tolist(), strict=True)),
            words=words[row],
            value=values[i],
            weights=means[i, :size],
            class_weights=dict(zip(codec.class_names, by_class[i, :, :size], strict=True)) if per_class else {},
            matrix=matrix,
            cut=codec.truncation.describe_cut(int(batches.offsets[row + 1] - batches.offsets[row]), codec.pairs),
            layers=layers,
            is_unknown=not has_known_token[i],
            branch=None if branch is None else BranchWords(branch.weight.item(), shares[i, :size], measure),
        )
    return examples


def _finite(output: torch.Tensor) -> torch.Tensor:
    if not output.isfinite().all():
        raise UserError(
            "the model returned numbers that are not finite, perhaps because its weights are too large; use another "
            "checkpoint, or train again with a smaller optimizer.lr"
        )
    return output


def _has_known_token(member: Member, inputs: Inputs) -> np.ndarray:
    unknown_id = member.card.codec.tokenizer.unknown_id
    return member.model.has_known_token(inputs, unknown_id).cpu().numpy()
