"""The verdict of a run, with which its page and its summary begin."""

from heedful.base.formatting import SPLIT_NAMES, format_count
from heedful.report.clauses import as_gain, describe_gain, describe_score
from heedful.report.data_section import trained_note
from heedful.report.numbers import format_percent
from heedful.report.words import clean_text
from heedful.runs.result import RunResult
from heedful.tasks.stored import EVERY_SCORE
from heedful.terms.comparison import Verdict
from heedful.terms.intervals import Interval


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
