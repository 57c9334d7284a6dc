"""What a shortlist says: which model to use, and why, in words whose evidence the leaderboard has."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from heedful.base.formatting import format_duration, format_names
from heedful.report.numbers import format_percent
from heedful.report.verdict import comparative, format_number, format_sizes
from heedful.runs.run_files import Predictions
from heedful.selection.choice import Choice, Gain, choose, corrected_score
from heedful.selection.race import FOLDS, Entry

FEWEST_FOLDS = 3  # of a candidate that may be chosen
SAME = 0.01  # a difference in a share of the texts that is called "about the same"
# A negligible cost is at most so many milliseconds a text, or times the cheapest's, and CPU seconds a fit
MOST_MS, MOST_TIMES, MOST_SECONDS = 1.0, 2.0, 60.0
POWER = 2.8  # standard errors of a difference that is found in 80 % of the samples
MOST_TEXTS = 10  # times the texts: more are not recommended
RECALL_GAP, RARE = 0.1, 10  # what is said of a class with so many texts


@dataclass(frozen=True)
class Answer:
    """The choice among the candidates that are not beaten, the cheapest first."""

    finalists: tuple[Entry, ...]
    folds: int  # that all of them have classified
    choice: Choice
    score: tuple[float, float, float]  # of the named model, without the luck of its choice; higher is better
    entries: tuple[Entry, ...]  # all candidates
    majority: float | None  # accuracy of always predicting the most frequent class
    seconds: float  # of all trainings

    @classmethod
    def of(cls, entries: Sequence[Entry], seconds: float) -> "Answer":
        """Choose among the candidates that are not beaten, on the folds that all of them have classified."""
        known = [entry for entry in entries if len(entry.fits) >= FEWEST_FOLDS and entry.end != "beaten"]
        finalists = sorted(known, key=lambda entry: entry.mean("cpu_seconds"))
        folds = min(len(entry.fits) for entry in finalists)
        terms = np.stack([entry.terms(folds) for entry in finalists])
        negligible = [_is_negligible(entry, finalists[0]) for entry in finalists]
        choice, score = choose(terms, negligible), corrected_score(terms, negligible)
        return cls(tuple(finalists), folds, choice, score, tuple(entries), _majority(finalists[0].predictions), seconds)

    @property
    def chosen(self) -> Entry:
        return self.finalists[self.choice.chosen]

    @property
    def metric(self) -> str:
        return self.chosen.predictions[0].task.main_score

    def is_useless(self) -> bool:
        """Return whether no candidate is shown to be better than always predicting the most frequent class."""
        if self.majority is None:
            return False
        best = Gain.of(self.finalists[self.choice.best].terms(self.folds) - self.majority)
        return best.low <= 0

    def sentences(self) -> Iterator[str]:
        """Yield the recommendation, then what limits it."""
        if self.is_useless():
            names = self.chosen.predictions[0].class_names
            counts = np.bincount(np.concatenate([part.labels for part in self.chosen.predictions]))
            frequent = f"`{names[int(counts.argmax())]}` ({format_percent(self.majority)})"
            yield f"Do not use any of these: the best is not shown to be better than always answering {frequent}"
            yield "Check the labels"
        else:
            yield self._recommendation()
            yield from self._losses()
        yield from self._untried()

    def _recommendation(self) -> str:
        choice, cheapest, chosen, metric = self.choice, self.finalists[0], self.chosen, self.metric
        texts = len(chosen.terms(self.folds))
        gain, best = choice.gains[choice.best], self.finalists[choice.best]
        size, better = format_sizes([gain.value], metric), comparative("better", metric)
        seen = f"{format_number(gain.low, metric)} to {format_number(gain.high, metric)}"
        if choice.reason == "clearly":
            gain = choice.gains[choice.chosen]
            least, guess = (format_sizes([number], metric) for number in (max(gain.low, 0), gain.value))
            ours, theirs = (entry.mean("ms_per_text") for entry in (chosen, cheapest))
            return (
                f"Use {chosen.name}: at least {least} {better} than {cheapest.name} on your texts (best guess "
                f"{guess}); it needs {ours:.2g} ms a text instead of {theirs:.2g}"
            )
        if choice.reason == "probably":
            doubt = f"({seen}; {texts:,} texts cannot prove it), and its extra cost is negligible"
            return f"Use {chosen.name}: probably {size} {better} than {cheapest.name} {doubt}"
        if choice.best == 0:
            is_only = len(self.finalists) == 1 and not any(entry.end == "beaten" for entry in self.entries)
            reason = "nothing else was tried" if is_only else "nothing tried was better, and it is the cheapest"
            return f"Use {cheapest.name}: {reason}"
        dearer = _dearer(best, cheapest)
        if gain.value <= max(gain.error, SAME if best.predictions[0].task.scores[metric].is_share else 0):
            return f"Use {cheapest.name}: {best.name} scores about the same ({size} {better}; {seen}) and {dearer}"
        sentence = f"Use {cheapest.name} for now: {best.name} may be {size} {better} ({seen}), but {dearer}"
        more = texts * ((POWER * gain.error / gain.value) ** 2 - 1)
        if 0 < more <= MOST_TEXTS * texts:
            sentence += f". About {math.ceil(more / 100) * 100:,} more labelled texts would decide"
        return sentence

    def _losses(self) -> Iterator[str]:
        """Yield the class of which the named model finds far fewer texts than the cheapest one."""
        names = self.chosen.predictions[0].class_names
        labels = np.concatenate([part.labels for part in self.chosen.predictions[: self.folds]])
        if self.chosen is self.finalists[0] or not names or labels.ndim > 1:
            return
        both = (entry.predictions[: self.folds] for entry in (self.chosen, self.finalists[0]))
        ours, theirs = (np.concatenate([part.is_correct for part in parts]) for parts in both)
        gaps = []
        for row, name in enumerate(names):
            rows = labels == row
            if rows.sum() >= RARE:
                gap = Gain.of(theirs[rows].astype(float) - ours[rows], len(names))
                gaps.append((gap.low, gap.value, name, ours[rows].mean(), theirs[rows].mean()))
        if gaps and max(gaps)[0] > 0 and max(gaps)[1] >= RECALL_GAP:
            _, _, name, found, before = max(gaps)
            cheapest = self.finalists[0].name
            yield f"But it finds {format_percent(found)} of `{name}`; {cheapest} finds {format_percent(before)}"

    def _untried(self) -> Iterator[str]:
        late = [entry for entry in self.entries if entry.end == "late"]
        if late:
            known = [entry.mean("seconds") * (FOLDS - len(entry.fits)) for entry in late if entry.fits]
            time = f" (about {format_duration(sum(known))} more)" if len(known) == len(late) else ""
            names = format_names(entry.name for entry in late)
            yield f"The race ended after {format_duration(self.seconds)}. Not tried to the end: {names}{time}"
        if impossible := [entry for entry in self.entries if entry.end == "impossible"]:
            yield f"Not possible with these data: {format_names(entry.name for entry in impossible)}"


def _is_negligible(entry: Entry, cheapest: Entry) -> bool:
    most = max(MOST_MS, MOST_TIMES * cheapest.mean("ms_per_text"))
    return entry.mean("ms_per_text") <= most and entry.mean("cpu_seconds") <= MOST_SECONDS


def _dearer(entry: Entry, cheapest: Entry) -> str:
    """Return by what a model costs more, the larger of two factors."""
    answer = entry.mean("ms_per_text") / max(cheapest.mean("ms_per_text"), 1e-9)
    fit = entry.mean("cpu_seconds") / max(cheapest.mean("cpu_seconds"), 1e-9)
    factor = max(answer, fit)
    if factor < 1.5:
        return "is no cheaper"
    times = f"{factor:.0f} times" if factor >= 2 else f"{factor:.1f} times"
    return f"answers {times} slower" if answer >= fit else f"costs {times} as much to train"


def _majority(predictions: Sequence[Predictions]) -> float | None:
    """Return the accuracy of always predicting the most frequent class; None for other tasks."""
    labels = np.concatenate([part.labels for part in predictions])
    if predictions[0].task.main_score != "acc" or labels.ndim > 1:
        return None
    return float(np.bincount(labels).max() / len(labels))
