"""Scores of the variants, text by text, after a check that all of them were tested on the same texts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from src.comparison.runs import FinishedRun
from src.comparison.scores import scores_by_text
from src.comparison.variants import Variant
from src.errors import UserError

MAX_FOLDERS = 3  # named of each group of runs


@dataclass(frozen=True)
class Measurement:
    """Scores of a variant's runs on the test texts."""

    variant: Variant
    scores: dict[str, np.ndarray]  # S each; without scores that these texts do not define
    compared: np.ndarray  # S×n, the contribution of each text to the compared score
    correct: np.ndarray  # S×n bool
    ensemble: float | None  # the compared score of the runs' mean probabilities; None for a single run
    digests: dict[int, str]  # seed → digest of the run's probabilities

    @property
    def seeds(self) -> tuple[int, ...]:
        """In the order of the rows of `compared` and `correct`."""
        return tuple(run.seed for run in self.variant.runs)


def measure(variants: Sequence[Variant], names: Sequence[str], metric: str) -> list[Measurement]:
    """Score the variants' predictions; each run's file is read once.

    Args:
        names: scores to compute.
        metric: the score that is compared, an element of the names.

    Raises:
        UserError: runs were tested on different texts, or these do not define the metric.
    """
    first = variants[0].runs[0].predictions()
    measurements = []
    for variant in variants:
        scores: dict[str, list[float]] = {}
        compared, correct, mean_probabilities = [], [], np.zeros(first.probabilities.shape)
        digests = {}
        for run in variant.runs:
            predictions = run.predictions()
            same_index = np.array_equal(predictions.index, first.index)
            if not (same_index and np.array_equal(predictions.labels, first.labels)):
                raise UserError(
                    f"{run.folder} was tested on {len(predictions.labels):,} texts, and {variants[0].runs[0].folder} "
                    f"on {len(first.labels):,} others: compare runs of the same test texts"
                )
            by_name = scores_by_text(predictions.probabilities, predictions.labels, names)
            if metric not in by_name:
                raise UserError(f"--metric {metric}: not defined on these test texts, because a class is missing")
            for name, values in by_name.items():
                scores.setdefault(name, []).append(float(values.mean()))
            compared.append(by_name[metric])
            correct.append(predictions.probabilities.argmax(1) == predictions.labels)
            digests[run.seed] = hashlib.sha256(predictions.probabilities.tobytes()).hexdigest()
            mean_probabilities += predictions.probabilities / len(variant.runs)
        arrays = {name: np.array(values) for name, values in scores.items()}
        ensemble_score = scores_by_text(mean_probabilities, first.labels, [metric])[metric].mean()
        ensemble = float(ensemble_score) if len(variant.runs) > 1 else None
        measurements.append(Measurement(variant, arrays, np.stack(compared), np.stack(correct), ensemble, digests))
    return measurements


def require_same_data(runs: Sequence[FinishedRun]) -> None:
    """Refuse runs on different data, since their scores are not comparable.

    Raises:
        UserError: with the folders of each group of runs.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[FinishedRun]] = {}
    for run in runs:
        data = run.result.data
        groups.setdefault((str(data.fingerprint), data.class_names), []).append(run)
    if len(groups) < 2:
        return
    lines = []
    for group in groups.values():
        data, more = group[0].result.data, len(group) - MAX_FOLDERS
        names = ", ".join(str(run.folder) for run in group[:MAX_FOLDERS]) + (f" and {more} more" if more > 0 else "")
        source = group[0].choices.get("data", "data")
        lines.append(f"  {source}, {data.train} training and {data.test} test texts: {names}")
    raise UserError(
        "the runs differ in their data (in the source, its splits, or data.limit), so their scores cannot be "
        "compared; name the folders of one of these groups:\n" + "\n".join(lines)
    )
