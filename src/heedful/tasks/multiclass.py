"""The task of which each text has one of C classes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field, FiniteFloat

from heedful import runtime
from heedful.tasks.scores import SCORES
from heedful.tasks.task import Task

if TYPE_CHECKING:  # comparisons do not import torch
    from torch import Tensor


class ConfidenceLimit(NamedTuple):
    """How often predictions of at least this confidence were wrong on validation texts, with a 95 % interval."""

    confidence: float
    texts: int  # that have at least this confidence
    wrong: int
    low: float | None = None
    high: float | None = None

    @property
    def error(self) -> float:
        return self.wrong / self.texts

    @property
    def expected_error(self) -> float:
        return runtime.expected_error(self.texts, self.wrong)


@dataclass(frozen=True)
class Multiclass(Task):
    """Each text has one of C classes; its target is the number of the class, int64, and -1 if it is unknown.

    A model has C logits, whose softmax are the probabilities, or for two classes a single logit, the log odds of the
    second.

    Args:
        temperature: divides the logits (Guo et al. 2017); it is chosen on the validation texts with `calibrate=true`.
        limits: from high to low confidence; () if they were not measured.
    """

    temperature: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    limits: tuple[ConfidenceLimit, ...] = ()
    state_names: ClassVar = ("classes", "temperature", "limits")
    calibrates: ClassVar = True
    balance: ClassVar = "loss.class_weights=balanced"
    scores: ClassVar = SCORES
    table: ClassVar = ("acc", "f1_macro", "auroc", "ece")

    def encode(self, names: Sequence[str], numbers: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return self._numbers(names)[numbers]

    def _numbers(self, names: Sequence[str]) -> np.ndarray:
        return np.array([self.classes.index(name) for name in names], dtype=np.int64)

    def decode(self, targets: np.ndarray) -> list[str]:
        return [self.classes[target] for target in targets]

    def recode(self, targets: np.ndarray, classes: Sequence[str]) -> np.ndarray:
        return targets if tuple(classes) == self.classes else self._numbers(classes)[targets]

    def unlabelled(self, texts: int) -> np.ndarray:
        return np.full(texts, -1)

    def pairs(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(len(targets)), targets

    def majority(self, class_counts: Sequence[int]) -> int | None:
        return int(np.argmax(class_counts))

    def probabilities(self, logits: "Tensor") -> "Tensor":
        logits = logits.float() if self.temperature == 1 else logits.float() / self.temperature
        if logits.shape[-1] > 1:
            return logits.softmax(-1)
        import torch

        positive = torch.sigmoid(logits)  # N×1
        return torch.cat([1 - positive, positive], -1)

    def logits(self, probabilities: "Tensor") -> "Tensor":
        import torch

        return probabilities.clamp_min(torch.finfo(probabilities.dtype).tiny).log() * self.temperature

    def predicted(self, probabilities: Any) -> Any:
        return probabilities.argmax(1)

    def confidence(self, probabilities: np.ndarray) -> np.ndarray:
        return np.asarray(probabilities.max(1))

    def joint(self, tasks: Sequence[Task]) -> Self:
        return self if len(tasks) == 1 else self.untuned()

    def untuned(self) -> Self:
        return replace(self, temperature=1.0, limits=())

    def confusion_matrix(self, predicted: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
        size = len(self.classes)
        return np.bincount(targets * size + predicted, minlength=size**2).reshape(size, size)

    def metric_options(self) -> dict[str, Any]:
        return {"task": "multiclass", "num_classes": len(self.classes)}
