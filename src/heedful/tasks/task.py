"""The base class of tasks: what a label is, and all that depends on it except the loss."""

import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from heedful.base.formatting import SPLIT_NAMES, format_count, format_list, format_names, format_repr
from heedful.tasks.labels import sort_classes
from heedful.tasks.scores import ScoreType
from heedful.tasks.strata import draw, fold_numbers

if TYPE_CHECKING:  # comparisons do not import torch
    from torch import Tensor

log = logging.getLogger(__name__)
MIN_TEXTS = 5  # minimum number of texts of each class for an interval of a score that is a mean over classes


@dataclass(frozen=True)
class Task(ABC):
    """What a label is. The targets of n texts are an array whose first axis has the length n.

    Args:
        classes: the C classes, in the order of the probabilities; empty until the data are read.
    """

    classes: tuple[str, ...] = ()
    targets: ClassVar[str] = "one class"  # that each text has; losses and branches say for which targets they are
    default_loss: ClassVar[str] = "heedful.models.loss.CrossEntropy"  # the class of the loss without options
    state_names: ClassVar[tuple[str, ...]] = ("classes",)  # the arguments that the data determine, not the user
    has_classes: ClassVar[bool] = True
    separates: ClassVar[bool] = False  # whether the logit of a class says nothing about the others
    balance: ClassVar[str] = ""  # the option that weighs classes by their sizes, if the default loss has one
    calibrates: ClassVar[bool] = False  # whether the logits, divided by a temperature, are still logits
    table: ClassVar[tuple[str, ...]]  # the scores in every table of a comparison
    trained: ClassVar[tuple[str, ...]] = ("acc",)  # the scores that are also computed in training

    @property
    @abstractmethod
    def scores(self) -> Mapping[str, ScoreType]:
        """The scores of probabilities n×C and targets, by name; the first is the most important."""

    @property
    def temperature(self) -> float:
        """By which the logits are divided."""
        return 1.0

    @property
    def main_score(self) -> str:
        """The name of the most important score, for curves and comparisons."""
        return next(iter(self.scores))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the columns of the probabilities."""
        return self.classes

    # From labels to targets, and back

    def split(self, cell: Any) -> list[Any]:
        """Return the labels in a cell of the column of labels."""
        return [cell]

    def suited(self, cells: Iterable[Any]) -> tuple[Self, str]:
        """Return the task that suits the first cells of labels, and a message that says what was found, or ""."""
        return self, ""

    @property
    def reading(self) -> str:
        """What determines the labels that are read, besides the options of the data."""
        return ""

    def fault(self, label: str) -> str:
        """Return what is wrong with a label in its canonical form, such as "is not a number"; "" if nothing is."""
        return ""

    def with_classes(self, classes: Sequence[str]) -> Self:
        return self.with_state(classes=tuple(classes))

    def with_state(self, **state: Any) -> Self:
        """Return the task with other values of some of its `state_names`."""
        return replace(self, **state)

    def find_classes(self, labels: Collection[str]) -> Sequence[str]:
        """Return the classes of labels that were found; a ValueError says why they cannot be trained on."""
        if len(labels) < 2:
            found = f"every row has the label {format_repr(*labels)}" if labels else "no row has a label"
            raise ValueError(f"{found}; training needs two or more classes")
        return sort_classes(labels)

    def learn(self, targets: np.ndarray) -> Self:
        """Return the task with the state that suits the training texts, of which these are the targets."""
        return self

    @abstractmethod
    def encode(self, names: Sequence[str], numbers: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return the targets of n texts.

        Args:
            names: the distinct labels.
            numbers: the number in `names` of each label of the first text, then of the second, and so on.
            sizes: n, the number of labels of each text.
        """

    @abstractmethod
    def decode(self, targets: np.ndarray) -> list[str]:
        """Return the label of each text as people read it."""

    def values(self, targets: np.ndarray) -> list[Any]:
        """Return the label of each text as programs read it."""
        return self.decode(targets)

    @abstractmethod
    def recode(self, targets: np.ndarray, classes: Sequence[str]) -> np.ndarray:
        """Return targets that were encoded before, perhaps with other classes, which are all classes of this task."""

    @abstractmethod
    def unlabelled(self, texts: int) -> np.ndarray:
        """Return the targets of texts without known labels."""

    def shown(self, values: np.ndarray) -> np.ndarray:
        """Return probabilities (n×C) or targets (n) as users see them; numbers may have an offset within a model."""
        return values

    @property
    def of_shown(self) -> Self:
        """The task of such values."""
        return self

    # Texts and their classes

    @abstractmethod
    def pairs(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the text and the class of each pair (text, class of this text)."""

    def strata(self, targets: np.ndarray) -> np.ndarray:
        """Return the stratum of each text, n integers; splits and folds have equal shares of each."""
        return targets

    def draw(self, targets: np.ndarray, total: int, spare: int, seed: Sequence[int]) -> np.ndarray:
        """Return the rows of `total` random texts, as `strata.draw` does."""
        return draw(self.strata(targets), total, spare, seed)

    def folds(self, targets: np.ndarray, folds: int, seed: Sequence[int]) -> np.ndarray:
        """Return the fold of each text, n integers."""
        return fold_numbers(self.strata(targets), folds, seed)

    def class_counts(self, targets: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
        """Return the number of texts of each class, or of the groups with such texts, C integers."""
        texts, classes = self.pairs(targets)
        if groups is not None:
            classes, _ = np.unique(np.stack([classes, groups[texts]]), axis=1)
        return np.bincount(classes, minlength=len(self.classes))

    def rarest_side(self, targets: np.ndarray, groups: np.ndarray | None) -> int:
        """Return the number of texts (or groups) of the rarest class, or without it if these are fewer."""
        return int(self.class_counts(targets, groups).min(initial=len(targets)))

    def describe_rare_classes(self, targets: np.ndarray, groups: np.ndarray | None, split: str = "test") -> str:
        """Name the classes with fewer than MIN_TEXTS texts (or groups), such as "REFUND: 1 test text"; "" if none has.

        Scores that are means over classes then have no interval.
        """
        texts, units = (self.class_counts(targets, units) for units in (None, groups))
        rare = [
            f"{format_list([name], plain=True)}: {format_count(count, f'{SPLIT_NAMES[split]} text')}"
            + (f" in {format_count(unit, 'group')}" if unit < count else "")
            for name, count, unit in zip(self.classes, texts.tolist(), units.tolist(), strict=True)
            if unit < MIN_TEXTS
        ]
        return format_names(rare)

    def linear_model(self, targets: np.ndarray, c: float) -> tuple[Any, np.ndarray, Any] | None:
        """Return a linear model of scikit-learn that is not fitted; None if these training targets teach nothing.

        Also return the targets to fit it to, and the columns of the probabilities that it predicts.

        Args:
            c: inverse strength of the L2 penalty.
        """
        from sklearn.multiclass import OneVsRestClassifier  # slow

        classes, labels = self._learnable(targets)
        regression = logistic_regression(c)
        model = OneVsRestClassifier(regression) if len(classes) > 2 or labels.ndim > 1 else regression
        return (model, labels, classes) if len(classes) > 1 else None

    def _learnable(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes that texts with these targets tell from others, and the targets for scikit-learn."""
        return np.unique(targets), targets

    def majority(self, class_counts: Sequence[int]) -> int | None:
        """Return the class that a constant prediction would have; None if there is no such prediction."""
        return None

    # Predictions

    def scaled(self, targets: "Tensor") -> "Tensor":
        """Return the targets as the loss compares them with logits."""
        return targets

    @abstractmethod
    def probabilities(self, logits: "Tensor") -> "Tensor":
        """Return the probability of each class: N×num_logits → N×C."""

    @abstractmethod
    def logits(self, probabilities: "Tensor") -> "Tensor":
        """Return logits that have these probabilities, N×C → N×C."""

    @abstractmethod
    def predicted(self, probabilities: Any) -> Any:
        """Return the predicted targets for probabilities n×C, an array or a tensor."""

    @abstractmethod
    def confidence(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the probability of each prediction, n×C → n."""

    def is_correct(self, probabilities: Any, targets: Any) -> Any:
        """Return whether each prediction is right, n bool; both arguments are arrays or tensors."""
        return self.predicted(probabilities) == targets

    @property
    def applied_thresholds(self) -> Sequence[float]:
        """The thresholds of the C classes for `training_sums`, which a module keeps on the device; without such, ()."""
        return ()

    def training_sums(self, logits: "Tensor", targets: "Tensor", thresholds: "Tensor") -> "dict[str, Tensor]":
        """Return the sum of the scores `trained` over the texts of a batch, by name."""
        return {"acc": self.is_correct(self.probabilities(logits), targets).sum()}

    def notable(self, probabilities: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
        """Return the numbers of texts to look at, in the order of interest: good and bad predictions, and others.

        The keys of all but the first are kinds of errors in `heedful.runs.examples`.
        """
        confidence, is_correct = self.confidence(probabilities), self.is_correct(probabilities, targets)
        order = np.argsort(-confidence, kind="stable")
        hits, mistakes = order[is_correct[order]], order[~is_correct[order]]
        return {"hit": hits, "mistake": mistakes, "uncertain": np.argsort(confidence, kind="stable")}

    def certain(self, targets: np.ndarray) -> np.ndarray:
        """Return probabilities that leave no doubt about these predicted targets, n×C."""
        return np.eye(len(self.classes), dtype=np.float32)[targets]

    def trial(self, texts: int) -> np.ndarray:
        """Return the probabilities of texts that are predicted as each class in turn, to try metrics with."""
        size = len(self.classes)
        rows = np.eye(size, dtype=np.float32)[np.arange(texts) % size]
        return 0.5 * rows + np.float32(0.5) / size

    def fit(self, probabilities: np.ndarray, targets: np.ndarray) -> Self:
        """Return the task with the state that suits the probabilities of validation texts."""
        return self

    def untuned(self) -> Self:
        """Return the task without what `fit` and other validation texts have added."""
        return self

    def joint(self, tasks: Sequence["Task"]) -> Self:
        """Return the task of the mean probabilities of several models, with their tasks."""
        return self

    def pool(self, tasks: Sequence["Task"], sizes: Sequence[int]) -> Self:
        """Return the task of texts of which several models, with their tasks, have classified these numbers."""
        return self

    def confusion_matrix(self, predicted: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
        """Return the number of texts by true class (row) and predicted class (column), C×C; None if there is none."""
        return None

    @abstractmethod
    def metric_options(self) -> dict[str, Any]:
        """Return the options from which torchmetrics knows the task, as far as a metric has them."""


def logistic_regression(c: float) -> Any:
    """Return scikit-learn's logistic regression, not fitted, with the inverse strength c of the L2 penalty.

    The result does not depend on any random state.
    """
    from sklearn.linear_model import LogisticRegression  # slow

    return LogisticRegression(C=c, solver="liblinear", dual=True, random_state=0, max_iter=1000)


@contextmanager
def converging(option: str) -> Iterator[None]:
    """Log one line for all linear models of classes that do not converge in the block; `option` is their c."""
    from sklearn.exceptions import ConvergenceWarning  # slow

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    unfinished = [warning for warning in caught if issubclass(warning.category, ConvergenceWarning)]
    for other in (warning for warning in caught if warning not in unfinished):
        warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if unfinished:
        log.warning("%s did not converge: try a smaller %s", format_count(len(unfinished), "linear model"), option)
