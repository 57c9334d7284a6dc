"""The verdict of a run, with which its page and its summary begin, and the clauses of which verdicts consist."""

from collections.abc import Sequence

from heedful.base.formatting import SPLIT_NAMES, format_count
from heedful.report.data_section import trained_note
from heedful.report.numbers import format_percent
from heedful.report.words import clean_text
from heedful.runs.result import RunResult
from heedful.tasks.stored import EVERY_SCORE
from heedful.terms.comparison import Verdict
from heedful.terms.intervals import Interval
from heedful.terms.measurements import label


def run_verdict(result: RunResult) -> str:
    """Return some sentences: the score, its difference from a simple model, the weakest class, and known texts.

    The score is the first in EVERY_SCORE that the run has, usually accuracy. The text is "" if the run has none.
    """
    split, texts = result.split, f"{SPLIT_NAMES[result.split]} text"
    scores = ((metric, result.metrics.get(f"{split}/{metric}")) for metric in EVERY_SCORE)
    metric, score = next(((metric, s) for metric, s in scores if s and s.value is not None), ("", None))
    if score is None or score.value is None:
        return ""
    clauses = [describe_score(metric, score.value, score.n or 0, texts)]
    difference, majority = result.baseline.differences.get(f"{split}/{metric}"), result.score(f"{split}/majority_acc")
    if difference is not None and difference.value is not None:
        gain = as_gain(Interval(difference.value, difference.low, difference.high), EVERY_SCORE[metric].lower_is_better)
        verdict: Verdict = "not significant"
        if gain.low is not None and gain.high is not None and not gain.low <= 0 <= gain.high:
            verdict = "better" if gain.value > 0 else "worse"
        clauses.append(describe_gain(gain, "the linear baseline", verdict, metric))
    elif majority is not None:
        clauses.append(f"always predicting the most frequent training class would get {format_percent(majority)}")
    sentence = "; ".join(clauses)
    sentences = [sentence[0].upper() + sentence[1:]]
    classes = [(c.f1 or 0.0, c.support, name) for name, c in result.classes.get(split, {}).items() if c.support]
    if len({f1 for f1, _, _ in classes}) > 1:
        f1, support, name = min(classes)
        sentences.append(f"Weakest class: {clean_text(name, 40)}, F1 {f1:.2f}, {format_count(support, texts)}")
    if split in result.data.splits and result.data.splits[split].in_train:
        sentences.append(trained_note(result.data, split))
    return ". ".join(sentences) + "."


def describe_score(metric: str, value: float, n: int, noun: str = "test text") -> str:
    """Return a clause such as "82.9 % of 444 test texts are right", or "macro F1 is 0.812 on 444 test texts"."""
    texts = format_count(n, noun)
    if metric != "acc":
        return f"{label(metric)} is {value:.3f} on {texts}"
    return f"{format_percent(value)} of {texts} {'is' if n == 1 else 'are'} right"


def as_gain(difference: Interval, lower_is_better: bool) -> Interval:
    """Return the difference with the sign that is positive for the better score."""
    value, low, high, p_value = difference
    if not lower_is_better:
        return difference
    return Interval(0 - value, None if high is None else 0 - high, None if low is None else 0 - low, p_value)


def describe_gain(gain: Interval, reference: str, verdict: Verdict, metric: str) -> str:
    """Return a clause such as "2.1 points better than the linear baseline, which is not significant (-0.4 to 4.6)"."""
    size = as_gain(gain, lower_is_better=gain.value < 0)
    ends = [_number(end, metric) for end in (size.low, size.high) if end is not None]
    bounds = f" ({' to '.join(ends)})" if ends else ""
    amount = format_sizes([size.value], metric)
    if verdict in ("better", "worse"):
        return f"significantly {comparative(verdict, metric)} than {reference} by {amount}{bounds}"
    if float(_number(size.value, metric)) == 0:
        return f"{comparative('as good', metric)} as {reference}{bounds}"
    remark = "" if verdict == "exploratory" else ", which is not significant" if bounds else ", which is not tested"
    direction = comparative("better" if gain.value > 0 else "worse", metric)
    return f"{amount} {direction} than {reference}{remark}{bounds}"


def comparative(word: str, metric: str) -> str:
    """Return the word with the metric, unless this is accuracy: "better in macro F1"."""
    return word if metric == "acc" else f"{word} in {label(metric)}"


def format_sizes(sizes: Sequence[float], metric: str) -> str:
    """Format the range of some sizes: "2.1 points", or "7.1 to 9.3 points"; for other metrics without the unit."""
    ends = dict.fromkeys(_number(abs(size), metric) for size in (min(sizes, key=abs), max(sizes, key=abs)))
    return " to ".join(ends) + (" points" if metric == "acc" else "")


def _number(value: float, metric: str) -> str:
    return f"{100 * value:z.1f}" if metric == "acc" else f"{value:z.3f}"
