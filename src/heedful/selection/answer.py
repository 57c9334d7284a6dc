"""What a shortlist says: which model to use, and why, in words whose evidence the leaderboard has."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heedful.base.formatting import capitalize, format_duration, format_names
from heedful.report.numbers import format_percent
from heedful.report.verdict import comparative, format_number, format_sizes
from heedful.selection.choice import FEWEST_FOLDS, SAME_COST, Choice, Gain, choose, corrected_score
from heedful.selection.entries import FOLDS, Curve, Entry, turned
from heedful.selection.race import SEEDS

TITLES = {"linear": "the linear model", "cnn": "the CNN", "transformer": "the transformer"}
SAME = 0.01  # a difference in a share of the texts that is called "about the same"
# A negligible cost is at most so many milliseconds a text, or times the cheapest's, and CPU seconds a fit
MOST_MS, MOST_TIMES, MOST_SECONDS = 1.0, 2.0, 60.0
POWER = 2.8  # standard errors of a difference that is found in 80 % of the samples
MOST_TEXTS = 3  # times the texts: more are not recommended
RECALL_GAP, RARE = 0.1, 10  # what is said of a class with so many texts


@dataclass(frozen=True)
class Answer:
    """The choice among the candidates that are not beaten, the cheapest first."""

    finalists: tuple[Entry, ...]
    folds: int  # that all of them have classified; or seeds that all have
    choice: Choice
    score: tuple[float, float, float]  # of the named model, without the luck of its choice; higher is better
    entries: tuple[Entry, ...]  # all candidates
    texts: int  # with labels
    seconds: float  # of all trainings
    lacking: Mapping[str, str]  # the packages that candidates need and that are not installed
    curve: Curve | None = None  # of the named model

    @classmethod
    def of(
        cls,
        entries: Sequence[Entry],
        seconds: float,
        texts: int | None = None,
        lacking: Mapping[str, str] | None = None,
    ) -> "Answer":
        """Choose among the candidates that are not beaten, on the folds that all of them have classified.

        Args:
            texts: with labels; None: those that were classified.
        """
        fewest = 1 if entries[0].screened else FEWEST_FOLDS
        known = [e for e in entries if len(e.predictions) >= fewest and e.end not in ("beaten", "unchecked")]
        finalists = sorted(known, key=lambda entry: entry.median("cpu_seconds"))
        folds = min(len(entry.fits) for entry in finalists if entry.fits)
        terms = np.stack([entry.terms(folds) for entry in finalists])
        negligible = [_is_negligible(entry, finalists[0]) for entry in finalists]
        choice, score = choose(terms, negligible), corrected_score(terms, negligible)
        size = len(entries[0].terms()) if texts is None else texts
        return cls(tuple(finalists), folds, choice, score, tuple(entries), size, seconds, lacking or {})

    @property
    def chosen(self) -> Entry:
        return self.finalists[self.choice.chosen]

    @property
    def metric(self) -> str:
        return self.chosen.predictions[0].task.main_score

    def shown(self, value: float) -> float:
        """Return the score for which a value of a candidate stands, of which higher ones are better."""
        return float(turned(self.chosen.predictions[0].task, value))

    @property
    def scored(self) -> int:
        """The number of texts from which the choice was made."""
        return len(self.chosen.terms(self.folds))

    @property
    def most(self) -> int:
        """The most folds of a model that the leaderboard shows; all finalists have as many seeds."""
        return self.folds if self.chosen.screened else FOLDS

    @property
    def base(self) -> float:
        """The mean score of the cheapest finalist."""
        return float(self.finalists[0].terms(self.most).mean())

    def majority(self) -> tuple[str, np.ndarray] | None:
        """Return the most frequent class or set of labels, or the mean, and its scores of the texts, or None."""
        first = self.entries[0]
        labels, task = first.labels(), first.predictions[0].task
        if self.metric == "r2":
            return "the mean", np.zeros(len(labels))
        if self.metric != "acc":
            return None
        kinds, numbers, counts = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
        frequent = int(counts.argmax())
        (name,) = task.decode(kinds[[frequent]])
        return name or "no label", (numbers.ravel() == frequent).astype(float)

    def is_useless(self) -> bool:
        """Return whether no candidate is shown to be better than a constant prediction."""
        majority, best = self.majority(), self.finalists[self.choice.best].terms(self.folds)
        return majority is not None and Gain.of(best - majority[1][: len(best)]).low <= 0

    def sentences(self) -> Iterator[str]:
        """Yield the recommendation, then what limits it."""
        if self.is_useless() and (majority := self.majority()):
            name, hits = majority
            frequent = f"`{name}` ({format_percent(hits.mean())})" if hits.any() else name
            yield f"Do not use any of these: the best is not shown to be better than always answering {frequent}"
            yield "Check the labels" + (", and give it more minutes" if self._is_late() else "")
        else:
            yield from self._recommendation()
            yield from self._more_texts()
        yield from self._untried()

    def _is_late(self) -> bool:
        return any(entry.end == "late" for entry in self.entries)

    def _recommendation(self) -> Iterator[str]:
        choice, cheapest, chosen, metric = self.choice, self.finalists[0], self.chosen, self.metric
        name, reference = title(chosen), title(cheapest)
        gain, best = choice.gains[choice.best], self.finalists[choice.best]
        size, better = format_sizes([gain.value], metric), comparative("better", metric)
        seen = f"{format_number(gain.low, metric)} to {format_number(gain.high, metric)}"
        is_share = best.predictions[0].task.scores[metric].is_share
        tried = sum(len(entry.predictions) > 0 for entry in self.entries)
        is_best = self._is_late() and tried > 1
        among = f"; it is the best of {tried} tried in {format_duration(self.seconds)}" if is_best else ""
        if choice.reason == "clearly":
            gain = choice.gains[choice.chosen]
            least, guess = (format_sizes([number], metric) for number in (gain.low, gain.value))
            if loss := self._loss():
                yield f"Use {name} for accuracy (at least {least} {better}; best guess {guess}), {loss}{among}"
            else:
                known = f"{self.scored:,} of your texts" if self.scored < self.texts else "your texts"
                seeds = f", with {self.folds} of {SEEDS} seeds" if self.folds < SEEDS else ""
                whose = f"your test texts{seeds}" if chosen.screened else known
                yield f"Use {name}: at least {least} {better} than {reference} on {whose} (best guess {guess}){among}"
            ours, theirs = (entry.median("ms_per_text") for entry in (chosen, cheapest))
            if chosen.fits:
                yield f"It needs {ours:.2g} ms a text instead of {theirs:.2g}"
            else:
                yield "It is not known what it costs; train it on all texts as you did on the folds"
        elif choice.reason == "probably":
            doubt = f"({seen}; {self.scored:,} texts cannot prove it), and its extra cost is negligible"
            yield f"Use {name}: probably {size} {better} than {reference} {doubt}{among}"
            if loss := self._loss():
                yield capitalize(loss)
        elif choice.best == 0 and (ahead := self._ahead()):
            yield f"Use {reference} for now: {ahead}. Give it more minutes"
        elif choice.best == 0:
            is_only = len(self.finalists) == 1 and not any(entry.end == "beaten" for entry in self.entries)
            reason = "nothing else was tried" if is_only else "nothing tried was better, and it is the cheapest"
            yield f"Use {reference}: {reason}{among}"
        elif gain.value <= max(gain.error, SAME if is_share else 0):
            about = f"{title(best)} scores about the same ({size} {'more' if is_share else better}; {seen})"
            yield f"Use {reference}: {about} and {_dearer(best, cheapest)}{among}"
        else:
            may = f"{title(best)} may be {size} {better} ({seen}), but {_dearer(best, cheapest)}"
            yield f"Use {reference} for now: {may}{among}"
            more = self.texts * ((POWER * gain.error / gain.value) ** 2 - 1)
            if 0 < more <= MOST_TEXTS * self.texts:
                yield f"About {math.ceil(more / 100) * 100:,} more labelled texts would decide"

    def _more_texts(self) -> Iterator[str]:
        """Yield what more labelled texts bring, if the learning curve shows it."""
        if self.curve is None:
            return
        gain = Gain.of(self.curve.terms[-1] - self.curve.terms[-2])
        if gain.low > 0:
            half = f"{title(self.chosen)} gained {format_gain(gain, self.metric)} when its training texts doubled"
            yield f"More labelled texts will help: {half}"

    def _ahead(self) -> str:
        """Return what is said of the best candidate without time that is better on the texts it has classified."""
        gains = {
            entry.name: Gain.of(entry.terms() - self.finalists[0].terms(len(entry.fits)))
            for entry in self.entries
            if entry.end == "late" and entry.fits and entry not in self.finalists
        }
        name = max(gains, key=lambda name: gains[name].value, default="")
        if not name or gains[name].value <= gains[name].error:
            return ""
        size, *ends = (format_number(end, self.metric) for end in gains[name][:1] + gains[name][2:])
        return f"{name} had no time, but is {size} ahead so far ({' to '.join(ends)})"

    def _loss(self) -> str:
        """Return what is said of a class of which the named model finds far fewer texts than the cheapest one."""
        cheapest, names = self.finalists[0], self.chosen.predictions[0].class_names
        labels = self.chosen.labels(self.folds)
        if not names or labels.ndim > 1:
            return ""
        ours, theirs = (entry.hits(self.folds) for entry in (self.chosen, cheapest))
        gaps = []
        for row, name in enumerate(names):
            rows = labels == row
            if rows.sum() >= RARE:
                gap = Gain.of(theirs[rows] - ours[rows], len(names))
                gaps.append((gap.low, gap.value, name, ours[rows].mean(), theirs[rows].mean()))
        if not gaps or max(gaps)[0] <= 0 or max(gaps)[1] < RECALL_GAP:
            return ""
        _, _, name, found, before = max(gaps)
        return f"but it finds {format_percent(found)} of `{name}`; {title(cheapest)} finds {format_percent(before)}"

    def _untried(self) -> Iterator[str]:
        for fits, words in ((False, "Not tried"), (True, "Not tried to the end")):
            if late := [entry for entry in self.entries if entry.end == "late" and bool(entry.fits) == fits]:
                known = [entry.median("seconds") * (FOLDS - len(entry.fits)) for entry in late if entry.fits]
                time = f" (about {format_duration(sum(known))} more)" if known and not late[0].screened else ""
                yield f"{words}: {format_names(entry.name for entry in late)}{time}"
        for name, package in self.lacking.items():
            yield f"Not tried: {name} (the package {package} is not installed)"
        for entry in self.entries:
            if entry.end == "unchecked":
                yield f"Not checked: {entry.name} ({entry.reason})"
        if impossible := [entry for entry in self.entries if entry.end == "impossible"]:
            yield f"Not possible with these data: {format_names(entry.name for entry in impossible)}"


def format_gain(gain: Gain, metric: str) -> str:
    """Return a difference with its interval, such as 4.3 (2.0 to 6.6)."""
    value, low, high = (format_number(number, metric) for number in (gain.value, gain.low, gain.high))
    return f"{value} ({low} to {high})" if gain.error else f"{value} for each text"


def title(entry: Entry) -> str:
    return TITLES.get(entry.name, entry.name)


def _is_negligible(entry: Entry, cheapest: Entry) -> bool:
    most = max(MOST_MS, MOST_TIMES * cheapest.median("ms_per_text"))
    return entry.median("ms_per_text") <= most and entry.median("cpu_seconds") <= MOST_SECONDS


def _dearer(entry: Entry, cheapest: Entry) -> str:
    """Return by what a model costs more, the larger of two factors."""
    if not entry.fits:
        return "it is not known what it costs"
    answer = entry.median("ms_per_text") / max(cheapest.median("ms_per_text"), 1e-9)
    fit = entry.median("cpu_seconds") / max(cheapest.median("cpu_seconds"), 1e-9)
    factor = max(answer, fit)
    if factor < SAME_COST:
        return "is no cheaper"
    times = f"{factor:.0f} times" if factor >= 2 else f"{factor:.1f} times"
    return f"answers {times} slower" if answer >= fit else f"costs {times} as much to train"
