"""Cells of the report's tables."""

from collections.abc import Sequence

from src.formatting import format_p_value
from src.records.runs import FinishedRun
from src.records.variants import Variant
from src.terms.comparison import difference_verdict
from src.terms.intervals import Interval, estimate, holm, mean_of_terms
from src.terms.measurements import measure
from src.terms.scores import SCORES

NOT_MEASURED = "not measured"


def preset_cells(runs: Sequence[FinishedRun]) -> list[str]:
    """Return the accuracy with its interval, test texts, epochs trained and best epoch, and trained parameters."""
    accuracies = [score_of(run) for run in runs]
    first = runs[0].result
    score, epochs, best = first.metrics["test/acc"], len(first.seconds.per_epoch), first.best.epoch
    interval = mean_of_terms(accuracies) if len(runs) > 1 else Interval(accuracies[0], score.low, score.high)
    trained = f"{epochs}, {'not known' if best is None else best + 1}"
    return [format_interval(interval, unit=" %"), f"{score.n:,}", trained, f"{first.parameters.trainable:,}"]


def difference_cells(pairs: Sequence[tuple[Variant, Variant]], metric: str = "acc") -> list[list[str]]:
    """For each pair, return the difference in points with its interval, p after Holm's adjustment, and the verdict.

    p is adjusted for all pairs. Different variants must have different names.
    """
    variants = list({variant.name: variant for pair in pairs for variant in pair}.values())
    samples = {item.variant.name: item.samples[metric] for item in measure(variants, metric)}
    differences = [estimate([(1, samples[a.name]), (-1, samples[b.name])]) for a, b in pairs]
    adjusted = holm([1.0 if difference.p_value is None else difference.p_value for difference in differences])
    rows = []
    for pair, difference, p_value in zip(pairs, differences, adjusted, strict=True):
        verdict = difference_verdict(difference.value, p_value, min(len(variant.runs) for variant in pair))
        rows.append([format_interval(difference.interval, sign="+"), format_p_value(p_value), verdict])
    return rows


def format_mean(variant: Variant | None, metric: str = "acc") -> str:
    """Format the mean of a metric over seeds ± the half-width of its 95 % interval, in %."""
    if variant is None:
        return NOT_MEASURED
    mean, low, _ = mean_of_terms([score_of(run, metric) for run in variant.runs])
    return f"{100 * mean:.1f}" + ("" if low is None else f" ± {100 * (mean - low):.1f}")


def format_interval(interval: Interval, sign: str = "", unit: str = "") -> str:
    """Format a value in % or points with its interval, such as "81.3 % (80.8 to 81.8)" or "+1.2 (-0.3 to +2.7)"."""
    value, low, high = interval
    bounds = "" if low is None or high is None else f" ({100 * low:{sign}.1f} to {100 * high:{sign}.1f})"
    return f"{100 * value:{sign}.1f}{unit}{bounds}"


def score_of(run: FinishedRun, metric: str = "acc") -> float:
    predictions = run.predictions()
    by_text = SCORES[metric].terms(predictions.probabilities, predictions.labels)
    assert by_text is not None, f"{metric} is not defined on the released test texts"
    return float(by_text.mean())
