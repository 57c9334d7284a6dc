"""The candidates in a race: what their trainings cost, and what they predict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from heedful.runs.run_files import Predictions
from heedful.tasks.task import Task

FOLDS = 5


@dataclass(frozen=True)
class Fit:
    """What a training on all folds but one, or on the training split, cost."""

    seconds: float  # of wall time
    cpu_seconds: float
    ms_per_text: float  # of CPU time, to predict with batches of 32
    megabytes: float  # of the checkpoint
    is_random: bool = True  # whether another seed changes the predictions


@dataclass
class Entry:
    """A candidate in the race: its overrides, and what is known so far; another program has no overrides and no fits.

    Args:
        predictions: of the test texts of each training: of a fold, or of the test split.
        screened: of the validation texts, which the race reads if there is a test split.
        end: why it was not trained to the end: late, beaten or impossible; "" if it was, or still races; unchecked, if
            another program may have been trained on the texts.
        reason: the same in words.
    """

    name: str
    overrides: tuple[str, ...]
    fits: list[Fit] = field(default_factory=list)
    predictions: list[Predictions] = field(default_factory=list)
    screened: list[Predictions] = field(default_factory=list)
    end: Literal["", "late", "beaten", "impossible", "unchecked"] = ""
    reason: str = ""

    def median(self, cost: str) -> float:
        """Return the median of a cost, because the first training of a process costs more; infinity if not known."""
        return float(np.median([getattr(fit, cost) for fit in self.fits])) if self.fits else math.inf

    def terms(self, fits: int = FOLDS) -> np.ndarray:
        """Return the scores of the test texts of the first trainings, n; higher is better."""
        return self._by_text([scores_of(part) for part in self.predictions[:fits]])

    def hits(self, fits: int = FOLDS) -> np.ndarray:
        """Return the share of the first trainings after which the test texts are right, n."""
        return self._by_text([part.is_correct.astype(float) for part in self.predictions[:fits]])

    def labels(self, fits: int = FOLDS) -> np.ndarray:
        """Return the labels of the test texts, n."""
        parts = [part.labels for part in self.predictions[:fits]]
        return parts[0] if self.screened else np.concatenate(parts)

    def _by_text(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.mean(parts, 0) if self.screened else np.concatenate(parts)

    def score(self) -> float:
        """Return the mean score of the last training, of the texts that the race reads; higher is better."""
        return float(np.mean(scores_of((self.screened or self.predictions)[-1])))


def scores_of(part: Predictions) -> np.ndarray:
    """Return the terms of the main score, n; higher is better."""
    terms = part.terms(part.task.main_score)
    return np.empty(0) if terms is None else turned(part.task, terms)


def turned(task: Task, values: Any) -> Any:
    """Return values of the main score of which higher ones are better, or what such values stand for."""
    return task.scores[task.main_score].turned(values)


@dataclass(frozen=True)
class Curve:
    """The scores of a candidate on the same n test texts after trainings of as many steps on parts of the texts.

    Args:
        texts: numbers of training texts; the last one is that of all.
        terms: for each, n; higher is better.
    """

    texts: tuple[int, ...]
    terms: tuple[np.ndarray, ...]
