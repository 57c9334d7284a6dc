"""Final scores of a run and of a split, each with its 95 % interval and number of texts."""

import logging
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from src.config.keys import default_metrics
from src.records.files import load_predictions
from src.run_result import Baseline, ClassScore, Score
from src.terms.intervals import Sample, area_interval, calibration_interval, estimate, mean_of_terms, wilson_interval
from src.terms.scores import SCORES, ScoreType

log = logging.getLogger(__name__)


def evaluate_splits(
    folder: Path, majority: int, logged: Mapping[str, float]
) -> tuple[dict[str, Score], dict[str, dict[str, ClassScore]], Baseline]:
    """Return the metrics of all predicted splits, by names such as test/acc; the class scores, by split and class; and
    the scores of the linear baseline, which are empty if it was not fitted.

    Args:
        majority: index of the most frequent class of the training texts.
        logged: the metrics that were logged, by the same names. Default metrics that are not among them are omitted;
            metrics that the run has added have no interval.
    """
    removed = default_metrics().keys() - {name.partition("/")[2] for name in logged}
    own = {name: value for name, value in logged.items() if name.partition("/")[2] not in default_metrics()}
    added = {name: value if math.isfinite(value) else None for name, value in own.items()}
    results: dict[str, Score] = {}
    classes: dict[str, dict[str, ClassScore]] = {}
    linear: dict[str, Score] = {}
    differences: dict[str, Score] = {}
    for path in sorted((folder / "predictions").glob("*.npz")):
        predictions = load_predictions(path)
        split, probabilities, labels, names, index = predictions
        scores = evaluate(probabilities, labels, majority=majority)
        results |= {f"{split}/{name}": score for name, score in scores.items() if name not in removed}
        results |= {name: Score(value, n=len(labels)) for name, value in added.items() if name.startswith(f"{split}/")}
        classes[split] = predictions.class_scores()
        if len(predicted := np.unique(probabilities.argmax(1))) == 1 < len(np.unique(labels)):
            log.warning(
                "All %s %s texts are predicted as %r: the model does not distinguish the classes. If the classes "
                "differ in size, train with loss.class_weights=balanced; otherwise train longer or with another "
                "optimizer.lr.",
                f"{len(labels):,}",
                split,
                names[predicted[0]],
            )
        if not (path := folder / "baseline" / path.name).exists():
            continue
        baseline = load_predictions(path)
        of_baseline = evaluate(baseline.probabilities, baseline.labels)
        linear |= {f"{split}/{name}": score for name, score in of_baseline.items() if name in scores.keys() - removed}
        if np.array_equal(index, baseline.index):  # not if trainer.limit_test_batches left texts out
            paired = score_differences(probabilities, baseline.probabilities, labels)
            differences |= {f"{split}/{name}": score for name, score in paired.items() if name not in removed}
    return results, classes, Baseline(linear, differences)


def evaluate(probabilities: np.ndarray, labels: np.ndarray, *, majority: int | None = None) -> dict[str, Score]:
    """Compute SCORES and majority_acc, the accuracy of predicting the class `majority` everywhere.

    acc and majority_acc have Wilson intervals, ece that of `calibration_interval`, and auroc that of `area_interval`.
    The other intervals are Student's t intervals of the mean of the terms, and end at the score's lowest and highest
    possible value. The bounds are None if all terms are equal.

    Args:
        probabilities: n×C in [0, 1], rows summing to 1.
        labels: n integers from 0 to C-1.
        majority: index of the most frequent class of the training texts; if it is None, majority_acc is omitted.
    """
    labels = labels.astype(np.int64)
    scores = {name: _score(name, score, probabilities, labels) for name, score in SCORES.items()}
    if majority is not None:
        scores = {"acc": scores["acc"], "majority_acc": _proportion(labels == majority)} | scores
    return scores


def _score(name: str, score: ScoreType, probabilities: np.ndarray, labels: np.ndarray) -> Score:
    n = len(labels)
    if (terms := score.terms(probabilities, labels)) is None:
        return Score(n=n)
    if name == "acc":
        return _proportion(terms)
    value, low, high, _ = mean_of_terms(terms)
    if low is None or high is None:
        return Score(value, n=n)
    if name == "ece":
        low, high = calibration_interval(probabilities.astype(np.float64).clip(0, 1), labels)
    elif name == "auroc":
        low, high = area_interval(value, float(terms.std()) / math.sqrt(n))
    return Score(value, max(score.low, low), min(score.high, high), n)


def _proportion(hits: np.ndarray) -> Score:
    return Score(float(hits.mean()), *wilson_interval(int(hits.sum()), len(hits)), len(hits))


def score_differences(probabilities: np.ndarray, others: np.ndarray, labels: np.ndarray) -> dict[str, Score]:
    """Return by how much each score of one model exceeds that of another on the same n texts, with paired intervals.

    Args:
        probabilities, others: n×C, the predictions of the two models.
    """
    differences = {}
    for name, score in SCORES.items():
        terms, other_terms = score.terms(probabilities, labels), score.terms(others, labels)
        if terms is not None and other_terms is not None:
            value, low, high, _ = estimate([(1, Sample(terms[None])), (-1, Sample(other_terms[None]))])
            differences[name] = Score(value, low, high, len(labels))
    return differences
