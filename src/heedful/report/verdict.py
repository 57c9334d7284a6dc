"""The verdict of a run, with which its page and its summary begin, and the clauses of which verdicts consist."""

from collections.abc import Mapping, Sequence

from heedful.base.formatting import SPLIT_NAMES, capitalize, format_count
from heedful.report.data_section import trained_note
from heedful.report.numbers import format_known, format_percent
from heedful.report.words import UNUSED_NOTE, clean_text
from heedful.runs.result import RunResult, Score
from heedful.tasks.scores import ScoreType
from heedful.tasks.stored import find_score, scores_of
from heedful.terms.comparison import Verdict
from heedful.terms.intervals import Interval
from heedful.terms.measurements import label

LINEAR_MODEL = "linear model"  # that each run fits to its training texts, as users read it
NEGLIGIBLE = 0.01  # a difference of which nobody takes notice, as long as a score has no unit


def run_verdict(result: RunResult) -> str:
    """Return some sentences: the score, its difference from a simple model, the weakest class, and known texts.

    The score is the first of the task that the run has, usually accuracy. The text is "" if the run has none.
    """
    split, texts = result.split, f"{SPLIT_NAMES[result.split]} text"
    scored = scores_of({name.partition("/")[2] for name in result.metrics})
    scores = ((metric, result.metrics.get(f"{split}/{metric}")) for metric in scored)
    metric, score = next(((metric, s) for metric, s in scores if s and s.value is not None), ("", None))
    if score is None or score.value is None:
        return ""
    clauses = [describe_score(metric, score.value, score.n or 0, scored, texts)]
    clauses += [clause] if (clause := gain_clause(result, metric)) else []
    sentence = "; ".join(clauses)
    sentences = [capitalize(sentence)]
    if result.has_unused_network:
        sentences.append(UNUSED_NOTE)
    classes = [(c.f1 or 0.0, c.support, name) for name, c in result.classes.get(split, {}).items() if c.support]
    if len({f1 for f1, _, _ in classes}) > 1:
        f1, support, name = min(classes)
        sentences.append(f"Weakest class: {clean_text(name, 40)}, F1 {f1:.2f}, {format_count(support, texts)}")
    if split in result.data.splits and result.data.splits[split].in_train:
        sentences.append(trained_note(result.data, split))
    if result.open_end:
        sentences.append(result.open_end)
    return ". ".join(sentences) + "."


def gain_clause(result: RunResult, metric: str) -> str:
    """Return by how much the model is better than the linear model, or else what a constant prediction would get."""
    split, score = result.split, result.metrics.get(f"{result.split}/{metric}", Score())
    difference, majority = result.baseline.differences.get(f"{split}/{metric}"), result.score(f"{split}/majority_acc")
    if difference is not None and difference.value is not None:
        known = find_score(metric)
        lower = known is not None and known.lower_is_better
        gain = as_gain(Interval(difference.value, difference.low, difference.high), lower)
        clause = describe_gain(gain, "this model", f"the {LINEAR_MODEL}", "exploratory", metric, score.n or 0)
        return clause + ("; another seed may differ" if excludes_zero(gain) and result.has_network else "")
    if majority is not None:
        return f"always predicting the most frequent training class would get {format_percent(majority)}"
    return ""


def describe_score(metric: str, value: float, n: int, scores: Mapping[str, ScoreType], noun: str = "test text") -> str:
    """Return a clause such as "82.9 % of 444 test texts are right", or "macro F1 is 0.812 on 444 test texts".

    Args:
        scores: those of the task.
    """
    texts = format_count(n, noun)
    if metric not in scores or not scores[metric].is_share:
        return f"{label(metric)} is {format_known(value)} on {texts}"
    return f"{format_percent(value)} of {texts} {'is' if n == 1 else 'are'} {scores[metric].share}"


def as_gain(difference: Interval, lower_is_better: bool) -> Interval:
    """Return the difference with the sign that is positive for the better score."""
    value, low, high, p_value = difference
    if not lower_is_better:
        return difference
    return Interval(0 - value, None if high is None else 0 - high, None if low is None else 0 - low, p_value)


def excludes_zero(gain: Interval) -> bool:
    return gain.low is not None and gain.high is not None and not gain.low <= 0 <= gain.high


def describe_gain(gain: Interval, name: str, reference: str, verdict: Verdict, metric: str, n: int) -> str:
    """Return what n texts say of a difference, such as "a is significantly better than b by 2.1 points (0.4 to 3.8)".

    Only a test over seeds makes a difference significant. Without one, the clause is about the trained models, and
    without an interval that excludes 0, neither is better; they are as good as each other if the interval, which after
    the rule of three has a width of 3 / n if all texts agree (Hanley and Lippman-Hand 1983), is within NEGLIGIBLE.
    """
    size = as_gain(gain, lower_is_better=gain.value < 0)
    ends = [format_number(end, metric) for end in (size.low, size.high) if end is not None]
    bounds, amount = f" ({' to '.join(ends)})" if ends else "", format_sizes([size.value], metric)
    better = comparative("better" if gain.value > 0 else "worse", metric)
    if verdict in ("better", "worse"):
        return f"{name} is significantly {better} than {reference} by {amount}{bounds}"
    if verdict == "exploratory" and excludes_zero(gain):
        return f"{name} is {amount} {better} than {reference} on these texts{bounds}"
    limits = (gain.low, gain.high) if gain.value or ends else (-3 / max(n, 1), 3 / max(n, 1))
    score = find_score(metric)
    if not (score and score.has_unit) and all(limit is not None and abs(limit) <= NEGLIGIBLE for limit in limits):
        return f"{name} is {comparative('as good', metric)} as {reference}{bounds}"
    signed = " to ".join(format_number(end, metric) for end in (gain.low, gain.high) if end is not None)
    seen = f"{format_number(gain.value, metric)}{_unit(metric)}" + (f"; {signed}" if signed else "")
    if verdict == "not significant" and ends:
        return f"{name} {comparative('is not shown to differ', metric)} from {reference} ({seen})"
    return f"{format_count(n, 'text')} cannot tell {name} {comparative('from', metric, reference)} ({seen})"


def comparative(word: str, metric: str, reference: str = "") -> str:
    """Return the word and the reference with the metric, unless this is a share: "better in macro F1"."""
    words = f"{word} {reference}".strip()
    return words if is_share(metric) else f"{words} in {label(metric)}"


def format_sizes(sizes: Sequence[float], metric: str) -> str:
    """Format the range of some sizes: "2.1 points", or "7.1 to 9.3 points"; for other metrics without the unit."""
    ends = dict.fromkeys(format_number(abs(size), metric) for size in (min(sizes, key=abs), max(sizes, key=abs)))
    return " to ".join(ends) + _unit(metric)


def format_number(value: float, metric: str) -> str:
    return f"{100 * value:z.1f}" if is_share(metric) else format_known(value)


def _unit(metric: str) -> str:
    return " points" if is_share(metric) else ""


def format_score(value: float | None, metric: str) -> str:
    return format_percent(value) if is_share(metric) else format_known(value)


def is_share(metric: str) -> bool:
    score = find_score(metric)
    return score is not None and score.is_share
