"""Final scores of a run and of a split, each with its 95 % interval and number of texts."""

import logging
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from heedful.config.keys import default_metrics
from heedful.runs.result import Baseline, ClassScore, Score
from heedful.runs.run_files import Predictions
from heedful.tasks.score_intervals import Scored, join_groups, share_bounds
from heedful.tasks.scores import ScoreType, ratio
from heedful.tasks.task import MIN_TEXTS
from heedful.terms.intervals import estimate, mean_of_terms, sample_score
from heedful.terms.temperature import uncalibrated

log = logging.getLogger(__name__)


def evaluate_splits(
    by_split: Mapping[str, Predictions],
    baselines: Mapping[str, Predictions],
    majority: int | None,
    logged: Mapping[str, float],
) -> tuple[dict[str, Score], dict[str, dict[str, ClassScore]], Baseline]:
    """Return the metrics of all predicted splits, by names such as test/acc; the class scores, by split and class; and
    the scores of the linear model, which are empty if it was not fitted.

    Args:
        by_split, baselines: the predictions of the model and of the linear model, by split.
        majority: index of the most frequent class of the training texts; None for other tasks.
        logged: the metrics that were logged, by the same names. Default metrics that are not among them are omitted;
            metrics that the run has added have no interval.
    """
    removed = default_metrics().keys() - {name.partition("/")[2] for name in logged}
    further = {name: value for name, value in logged.items() if name.partition("/")[2] not in default_metrics()}
    added = {name: value if math.isfinite(value) else None for name, value in further.items()}
    results: dict[str, Score] = {}
    classes: dict[str, dict[str, ClassScore]] = {}
    linear: dict[str, Score] = {}
    differences: dict[str, Score] = {}
    for split in sorted(by_split):
        predictions = by_split[split]
        scores, n = evaluate(predictions, majority=majority), len(predictions.labels)
        results |= {f"{split}/{name}": score for name, score in scores.items() if name not in removed}
        others = [name for name in added if name.startswith(f"{split}/") and name not in results]
        results |= {name: Score(added[name], n=n) for name in others}
        predicted = predictions.predicted
        if of_classes := _class_scores(predictions):
            classes[split] = of_classes
        if np.all(predicted[0] == predicted) and not np.all(predictions.labels[0] == predictions.labels):
            balance = predictions.task.balance
            remedy = f"If classes differ in size, train with {balance}; otherwise train" if balance else "Train"
            log.warning(
                "All %s %s texts are predicted as %r: the model does not distinguish them. %s longer or with another "
                "optimizer.lr.",
                f"{n:,}",
                split,
                predictions.task.decode(predicted[:1])[0],
                remedy,
            )
        if (baseline := baselines.get(split)) is None:
            continue
        of_baseline = evaluate(baseline)
        linear |= {f"{split}/{name}": score for name, score in of_baseline.items() if name in scores.keys() - removed}
        if np.array_equal(predictions.index, baseline.index):  # not if trainer.limit_test_batches left texts out
            paired = score_differences(predictions, baseline)
            differences |= {f"{split}/{name}": score for name, score in paired.items() if name not in removed}
    return results, classes, Baseline(linear, differences)


def evaluate(predictions: Predictions, *, majority: int | None = None) -> dict[str, Score]:
    """Compute the scores of the task and, unless it is None, majority_acc, that of predicting `majority` everywhere.

    If the probabilities have a temperature, ece_uncalibrated is the calibration error without it.

    The bounds are None if all terms are equal, for means over classes if a class is too rare, and for ece if the texts
    have groups.
    """
    scores = {name: _score(name, score, predictions) for name, score in predictions.task.scores.items()}
    if "ece" in scores and (before := uncalibrated(predictions)) is not None:
        scores["ece_uncalibrated"] = _score("ece", predictions.task.scores["ece"], before)
    if majority is not None and "acc" in scores:
        constant = proportion(predictions.labels == majority, predictions.groups)
        scores = {"acc": scores["acc"], "majority_acc": constant} | scores
    return scores


def _class_scores(predictions: Predictions) -> dict[str, ClassScore]:
    """Return the scores of each class, with the interval of F1 unless the class has fewer than MIN_TEXTS texts.

    Precision is 0 if the class is never predicted, and recall is 0 if it has no texts. If both hold, precision, recall
    and F1 are None.
    """
    n, groups, scores = len(predictions.labels), predictions.groups, dict[str, ClassScore]()
    pairs = [predictions.task.pairs(targets) for targets in (predictions.predicted, predictions.labels)]
    units = predictions.task.class_counts(predictions.labels, groups)
    counts = zip(predictions.class_names, *predictions.class_counts(), strict=True)
    for c, (name, hits, predicted, true) in enumerate(counts):
        parts = ((hits, predicted), (hits, true), (2 * hits, predicted + true))
        precision, recall, f1 = (float(part / max(whole, 1)) if predicted + true else None for part, whole in parts)
        scores[name] = ClassScore(precision, recall, f1, int(true))
        if units[c] >= MIN_TEXTS:
            found, of_class = (np.bincount(texts[classes == c], minlength=n) for texts, classes in pairs)
            _, low, high, _ = mean_of_terms(join_groups(ratio(2.0 * found * of_class, 1.0 * found + of_class), groups))
            if low is not None and high is not None:
                scores[name] = replace(scores[name], f1_low=max(0.0, low), f1_high=min(1.0, high))
    return scores


def _score(name: str, score: ScoreType, predictions: Predictions) -> Score:
    probabilities, labels, groups = predictions.probabilities, predictions.labels, predictions.groups
    n = len(labels)
    if (sample := sample_score(name, [predictions])) is None:
        return Score(n=n)
    bounds = score.bounds(Scored(sample.scores[0], groups, probabilities, labels), sample.freedom)
    low, high = bounds or (None, None)
    return Score(float(sample.by_seed[0]), low, high, n)


def proportion(hits: np.ndarray, groups: np.ndarray | None) -> Score:
    """Return the share of hits with its interval."""
    low, high = share_bounds(hits, groups) or (None, None)
    return Score(float(hits.mean()), low, high, len(hits))


def score_differences(predictions: Predictions, others: Predictions) -> dict[str, Score]:
    """Return by how much each score of one model exceeds that of another on the same n texts, with paired intervals."""
    differences = {}
    for name in predictions.task.scores:
        sample, other = (sample_score(name, [classified]) for classified in (predictions, others))
        if sample is not None and other is not None:
            value, low, high, _ = estimate([(1, sample), (-1, other)])
            differences[name] = Score(value, low, high, len(predictions.labels))
    return differences
