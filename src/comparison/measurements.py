"""Variants' scores, text by text, once it is sure that all of them were tested on the same texts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from src.comparison.runs import FinishedRun
from src.comparison.scores import scores_by_text
from src.comparison.variants import Variant
from src.errors import UserError

SHOWN = 3  # folders named of each group of runs


@dataclass(frozen=True)
class Measurement:
    """What a variant's runs scored on the test texts."""

    variant: Variant
    scores: dict[str, np.ndarray]  # S each, missing where these texts do not define the score
    compared: np.ndarray  # S×n, the texts' parts in the score that is compared
    correct: np.ndarray  # S×n bool
    ensemble: float | None  # the score that is compared, of the runs' mean probabilities; None for one run alone
    answers: dict[int, str]  # seed → digest of the run's probabilities: equal where all of them are

    @property
    def seeds(self) -> tuple[int, ...]:
        """In the order of the rows of `compared` and `correct`."""
        return tuple(run.seed for run in self.variant.runs)


def measure(variants: Sequence[Variant], names: Sequence[str], metric: str) -> list[Measurement]:
    """Score the variants' predictions, each run's read once.

    Args:
        names: scores wanted.
        metric: the one of them that is compared.

    Raises:
        UserError: runs were tested on different texts, or these do not define the metric.
    """
    first = variants[0].runs[0].predictions()
    measured = []
    for variant in variants:
        scores: dict[str, list[float]] = {}
        compared, correct, probabilities = [], [], np.zeros(first.probabilities.shape)
        answers = {}
        for run in variant.runs:
            held = run.predictions()
            if not (np.array_equal(held.index, first.index) and np.array_equal(held.labels, first.labels)):
                raise UserError(
                    f"{run.folder} was tested on {len(held.labels):,} texts, and {variants[0].runs[0].folder} on "
                    f"{len(first.labels):,} others: compare runs of the same test texts"
                )
            parts = scores_by_text(held.probabilities, held.labels, names)
            if metric not in parts:
                raise UserError(f"--metric {metric}: not defined on these test texts, where a class is missing")
            for name, values in parts.items():
                scores.setdefault(name, []).append(float(values.mean()))
            compared.append(parts[metric])
            correct.append(held.probabilities.argmax(1) == held.labels)
            answers[run.seed] = hashlib.sha256(held.probabilities.tobytes()).hexdigest()
            probabilities += held.probabilities / len(variant.runs)
        arrays = {name: np.array(values) for name, values in scores.items()}
        together = scores_by_text(probabilities, first.labels, [metric])[metric].mean()
        ensemble = float(together) if len(variant.runs) > 1 else None
        measured.append(Measurement(variant, arrays, np.stack(compared), np.stack(correct), ensemble, answers))
    return measured


def require_same_data(runs: Sequence[FinishedRun]) -> None:
    """Refuse runs on different data: their numbers say nothing about each other.

    Raises:
        UserError: with the folders of each group of runs.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[FinishedRun]] = {}
    for run in runs:
        data = run.result["data"]
        groups.setdefault((str(data.get("fingerprint")), tuple(data.get("class_names", ()))), []).append(run)
    if len(groups) < 2:
        return
    lines = []
    for held in groups.values():
        data, more = held[0].result["data"], len(held) - SHOWN
        names = ", ".join(str(run.folder) for run in held[:SHOWN]) + (f" and {more} more" if more > 0 else "")
        chosen = held[0].choices.get("data", "data")
        lines.append(f"  {chosen}, {data.get('train')} training and {data.get('test')} test texts: {names}")
    raise UserError(
        "the runs differ in their data (in the source, how it is divided, or data.limit), so their scores cannot be "
        "compared; name the folders of one of these groups:\n" + "\n".join(lines)
    )
