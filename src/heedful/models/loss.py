"""Loss functions, each of which defines the number of logits."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.models.component import Rate
from heedful.tasks.task import Task

Weight = Annotated[float, Field(ge=0, le=1e15)]  # sums and ratios of such weights are finite in float32


def _class_weights(counts: Sequence[int], weights: Sequence[float] | Mapping[str, float] | str | None) -> Tensor | None:
    if weights is None:
        return None
    if weights == "balanced":  # each class gets the same total weight: a text of class c has weight n / (C n_c)
        return sum(counts) / (len(counts) * torch.tensor(counts, dtype=torch.float32).clamp(min=1))
    if isinstance(weights, str | Mapping) or len(weights) != len(counts):
        raise ValueError(f"class_weights={weights} must be balanced or one number for each of {len(counts)} classes")
    tensor = torch.tensor(weights, dtype=torch.float32)
    if not tensor.any():
        raise ValueError(f"class_weights={list(weights)} must not all be 0")
    return tensor


class Loss(nn.Module, ABC):
    """The base class of losses.

    Both losses of this module equal Σ_n Σ_c −w_c t_nc log p_nc / Σ_n w_label(n), as does torch's `cross_entropy`. With
    label smoothing ε, the target is t_nc = (1 − ε) [c = label(n)] + ε / C. Without class weights, every w_c is 1 and
    the divisor is the number of texts.

    Label smoothing is that of Szegedy et al. (2016, sect. 7). `balanced` weighs each class inversely proportionally to
    its number of training texts, `class_counts`. Weights that have the labels of classes as keys in a configuration are
    a list here.
    """

    targets: ClassVar[str] = "one class"  # that each text has, as in the class of the task
    class_weights: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        class_counts: Sequence[int],
        *,
        label_smoothing: Rate = 0.0,
        class_weights: Sequence[Weight] | Mapping[str, Weight] | Literal["balanced"] | None = None,
    ) -> None:
        super().__init__()
        self.num_logits = len(class_counts)
        self.label_smoothing = label_smoothing
        self.register_buffer("class_weights", _class_weights(class_counts, class_weights), persistent=False)

    @abstractmethod
    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the weighted mean loss of the texts, not finite if all weights are 0: N×num_logits, N → scalar."""


class CrossEntropy(Loss):
    """Cross-entropy with one logit for each class: p = softmax(logits)."""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits.float(), labels, weight=self.class_weights, label_smoothing=self.label_smoothing)


class BinaryRelevance(Loss):
    """The mean binary cross-entropy over texts and classes, for any number of labels: p = σ(logits).

    The texts that have a class weigh `pos_weight`, those without it 1; `balanced` in a configuration is a list here.
    """

    targets = "many labels"

    def __init__(
        self,
        class_counts: Sequence[int],
        *,
        pos_weight: Weight | Sequence[Weight] | Mapping[str, Weight] | Literal["balanced"] | None = None,
    ) -> None:
        super().__init__(class_counts)
        weights = [pos_weight] * len(class_counts) if isinstance(pos_weight, int | float) else pos_weight
        if isinstance(weights, str | Mapping) or (weights is not None and len(weights) != len(class_counts)):
            raise ValueError(
                f"pos_weight={pos_weight} must be one number, or one for each of {len(class_counts)} classes"
            )
        self.register_buffer("pos_weight", None if weights is None else torch.tensor(weights), persistent=False)

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(logits.float(), labels.float(), pos_weight=self.pos_weight)


class BinaryCrossEntropy(Loss):
    """Cross-entropy with one logit for two classes, as in the twenty-model report: p = (σ(−logit), σ(logit)).

    It equals `CrossEntropy` of the logits (0, logit) with the same options. Without options, it also equals torch's
    `BCEWithLogitsLoss`.
    """

    def __init__(self, class_counts: Sequence[int], **options: Any) -> None:
        if len(class_counts) != 2:
            raise ValueError(f"one logit separates 2 classes, not {len(class_counts)}: use loss=cross_entropy")
        super().__init__(class_counts, **options)
        self.num_logits = 1

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        target = labels.float() * (1 - self.label_smoothing) + self.label_smoothing / 2  # N
        logits = logits.squeeze(-1).float()
        if self.class_weights is None:
            return F.binary_cross_entropy_with_logits(logits, target)
        negative, positive = self.class_weights
        terms = positive * target * F.logsigmoid(logits) + negative * (1 - target) * F.logsigmoid(-logits)  # N
        return -terms.sum() / self.class_weights[labels].sum()


class NumberLoss(Loss):
    """The base class of losses of a number; the logit and the numbers are standardized, as the task scales them."""

    targets = "a number"

    def __init__(self, class_counts: Sequence[int]) -> None:
        super().__init__(class_counts)
        self.num_logits = 1


class SquaredError(NumberLoss):
    """The mean squared error."""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.mse_loss(logits.squeeze(-1).float(), labels)


class AbsoluteError(NumberLoss):
    """The mean absolute error, whose best prediction is the median."""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.l1_loss(logits.squeeze(-1).float(), labels)


class HuberLoss(NumberLoss):
    """The mean of e²/2 for errors |e| up to delta, and of delta (|e| - delta/2) for larger ones (Huber 1964)."""

    def __init__(self, class_counts: Sequence[int], *, delta: Annotated[float, Field(gt=0)] = 1.0) -> None:
        super().__init__(class_counts)
        self.delta = delta

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.huber_loss(logits.squeeze(-1).float(), labels, delta=self.delta)


def plain_loss(task: Task, class_counts: Sequence[int]) -> Loss:
    """Return the loss without options of a task's logits."""
    module, _, name = task.default_loss.rpartition(".")  # of the class of the task, which is trusted
    created: Loss = resolve_name(f"{module}:{name}")(class_counts)
    return created
