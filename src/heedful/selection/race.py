"""The race of a shortlist: trainings on folds, in one process, until the time is up; it goes on where it ended."""

import json
import resource
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from heedful.base.errors import UserError
from heedful.base.files import write_json
from heedful.config.overrides import quote
from heedful.runs.result import RESULT_FILE
from heedful.runs.run_files import Predictions, read_predictions
from heedful.selection.choice import find_beaten

FOLDS = 5
FITS_FILE = "fits.json"
# A fit writes no files but predictions and the best checkpoint
OF_A_FIT = ("logger=none", "test=true")
WITHOUT = ("gradient_norms", "attention", "graphs", "baseline", "last_checkpoint", "page")
Train = Callable[[Sequence[str], Sequence[str]], Any]  # overrides, names of callbacks → a TrainedRun


@dataclass(frozen=True)
class Fit:
    """What a training on all folds but one cost."""

    seconds: float  # of wall time
    cpu_seconds: float
    ms_per_text: float  # of CPU time, to predict with batches of 32
    megabytes: float  # of the checkpoint


@dataclass
class Entry:
    """A candidate in the race: its overrides, and what is known so far.

    Args:
        predictions: of the held-out texts of each fold, in the order of the folds.
        end: why it was not trained on all folds: late, beaten or impossible; "" if it was, or still races.
        reason: the same in words.
    """

    name: str
    overrides: tuple[str, ...]
    fits: list[Fit] = field(default_factory=list)
    predictions: list[Predictions] = field(default_factory=list)
    end: Literal["", "late", "beaten", "impossible"] = ""
    reason: str = ""

    def mean(self, cost: str) -> float:
        return float(np.mean([getattr(fit, cost) for fit in self.fits]))

    def terms(self, folds: int = FOLDS) -> np.ndarray:
        """Return the scores of the texts of the first folds, n; higher is better."""
        score = self.predictions[0].task.main_score
        sign = -1 if self.predictions[0].task.scores[score].lower_is_better else 1
        found = [part.terms(score) for part in self.predictions[:folds]]
        return sign * np.concatenate([part for part in found if part is not None])


class Race:
    """The folder of a race, its candidates and its time.

    Args:
        candidates: the overrides of each candidate by its name.
        train: trains with overrides, without some callbacks.
        texts: to time predictions.
        minutes: within which trainings end.
        say: shows the progress.
    """

    def __init__(
        self,
        folder: Path,
        candidates: Mapping[str, Sequence[str]],
        train: Train,
        texts: Sequence[str],
        minutes: float,
        say: Callable[[str], None],
    ) -> None:
        self.folder, self.train, self.texts, self.say = folder, train, list(texts), say
        self.entries = [Entry(name, tuple(overrides)) for name, overrides in candidates.items()]
        self.seconds = 60 * minutes
        self.known: dict[str, Any] = {}
        record = {"candidates": {entry.name: list(entry.overrides) for entry in self.entries}, "fits": {}}
        if (file := folder / FITS_FILE).exists():
            stored = json.loads(file.read_text(encoding="utf-8"))
            if stored["candidates"] != record["candidates"]:
                raise UserError(f"{folder}: holds a race with other candidates or options: choose another out=…")
            self.known = stored["fits"]
        self.record = {**record, "fits": self.known}

    def run(self) -> None:
        """Train the first candidate on all folds, then the others fold by fold; the beaten ones end.

        A training starts only if one that lasts as long as the candidate's first one ends in time.
        """
        first, *others = self.entries
        for fold in range(FOLDS):
            self._fit(first, fold)
        for fold in range(FOLDS):
            for entry in [entry for entry in others if not entry.end]:
                needed = entry.mean("seconds") if entry.fits else 0
                if f"{entry.name}/{fold}" not in self.known and self.spent() + needed >= self.seconds:
                    entry.end, entry.reason = "late", "no time"
                    continue
                try:
                    self._fit(entry, fold)
                except UserError as error:  # such as a component that cannot read pairs
                    if fold:
                        raise
                    entry.end, entry.reason = "impossible", str(error)
            if fold < FOLDS - 1:
                self._end_beaten(fold + 1)

    def spent(self) -> float:
        """Return the seconds of all trainings, also of those before an interruption."""
        return sum(fit.seconds for entry in self.entries for fit in entry.fits)

    def refit(self, entry: Entry) -> Any:
        """Train a candidate on all texts, except those that it holds out for validation."""
        folder = self.folder / "winner"
        shutil.rmtree(folder, ignore_errors=True)
        lines = ["logger=none", "test=false", "data.test_fraction=0", f"hydra.run.dir={quote(str(folder))}"]
        return self.train([*entry.overrides, *lines], ("graphs", "baseline"))

    def _time_prediction(self, model: Any) -> float:
        """Return the milliseconds of CPU time that the prediction of a text takes, a mean over some texts."""
        model.predict_proba(self.texts)  # the first call prepares
        before = time.process_time()
        model.predict_proba(self.texts)
        return 1000 * (time.process_time() - before) / len(self.texts)

    def _end_beaten(self, folds: int) -> None:
        racing = [row for row, entry in enumerate(self.entries) if len(entry.fits) >= folds and not entry.end]
        terms = np.stack([self.entries[row].terms(folds) for row in racing])
        for beaten, leader in find_beaten(terms, range(len(racing)), folds).items():
            entry, better = self.entries[racing[beaten]], self.entries[racing[leader]]
            entry.end, entry.reason = "beaten", f"worse than {better.name}"
            self.say(f"{entry.name}: ends after fold {folds}, {entry.reason}")

    def _fit(self, entry: Entry, fold: int) -> None:
        """Train a candidate on all folds but one, or read what an earlier race has written."""
        key, folder = f"{entry.name}/{fold}", self.folder / entry.name / f"fold{fold}"
        if key not in self.known:
            shutil.rmtree(folder, ignore_errors=True)
            started, before = time.perf_counter(), cpu_seconds()
            lines = [f"data.folds={FOLDS}", f"data.fold={fold}", f"hydra.run.dir={quote(str(folder))}", *OF_A_FIT]
            run = self.train([*entry.overrides, *lines], WITHOUT)
            cost, seconds = cpu_seconds() - before, time.perf_counter() - started
            size = (folder / "checkpoints" / "best.ckpt").stat().st_size
            fit = Fit(seconds, cost, self._time_prediction(run.model), size / 1e6)
            if fold:
                (folder / "checkpoints" / "best.ckpt").unlink()
            self.known[key] = asdict(fit)
            write_json(self.folder / FITS_FILE, self.record)
        predictions = read_predictions(folder)
        if predictions is None:
            raise UserError(
                f"{folder / RESULT_FILE}: its predictions are missing: remove {self.folder}, and begin again"
            )
        entry.fits.append(Fit(**self.known[key]))
        entry.predictions.append(predictions)
        if not np.array_equal(predictions.labels, self.entries[0].predictions[fold].labels):
            raise UserError(f"{folder}: its texts are not those of {self.entries[0].name}: the data have changed")
        score = predictions.task.main_score
        value = float(np.mean(entry.terms()[-len(predictions.labels) :]))
        cost = entry.fits[-1].cpu_seconds
        self.say(f"{entry.name}: fold {fold + 1} of {FOLDS}, {score} {abs(value):.3f}, {cost:.1f} CPU s")


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has started and that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
