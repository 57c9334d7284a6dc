"""The race of a shortlist: trainings in one process, until the time is up; it goes on where it ended."""

import json
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from heedful.base.errors import UserError
from heedful.base.files import csv_line, write_json, write_text
from heedful.base.formatting import format_names
from heedful.config.compose import read_options
from heedful.config.overrides import key_of, quote
from heedful.records.outside import Outside, outside_variant
from heedful.records.runs import FinishedRun
from heedful.runs.environment import cpu_seconds
from heedful.runs.result import RunResult
from heedful.runs.run_files import Predictions, read_rows
from heedful.selection.choice import find_beaten, is_decided

FOLDS = 5
SEEDS, MOST_SEEDS = 3, 5  # of the finalists; more than SEEDS as time allows
FOLD_TEXTS = 2000  # with more texts, a test split and several seeds take the place of folds
FINALISTS = 3  # candidates with several seeds
SHARES = (4, 2)  # the curve has the scores of so many parts of the training texts
CURVE_SECONDS = 30.0  # CPU seconds within which the curve has more than one fold
WORSE = 0.05  # by which share the monitored value of a refit may exceed the worst one of the race
ALIKE = 0.1  # by which share the values of two seeds may differ whose trainings did not fail
UNLUCKY = 0.05  # probability of a worse value by the chance of the validation texts
FITS_FILE = "fits.json"
# A fit writes no files but predictions and the best checkpoint
OF_A_FIT = ("logger=none", "test=true", "hydra.output_subdir=null")
WITHOUT = ("gradient_norms", "attention", "removal", "graphs", "baseline", "last_checkpoint", "page")
Train = Callable[[Sequence[str], Sequence[str]], Any]  # overrides, names of callbacks → a TrainedRun


@dataclass(frozen=True)
class Fit:
    """What a training on all folds but one, or on the training split, cost."""

    seconds: float  # of wall time
    cpu_seconds: float
    ms_per_text: float  # of CPU time, to predict with batches of 32
    megabytes: float  # of the checkpoint
    monitored: float | None = None  # by the best checkpoint; lower is better
    is_random: bool = True  # whether another seed changes the predictions


@dataclass
class Entry:
    """A candidate in the race: its overrides, and what is known so far; another program has no overrides and no fits.

    Args:
        predictions: of the test texts of each training: of a fold, or of the test split.
        screened: of the validation texts, which the race reads if there is a test split.
        end: why it was not trained to the end: late, beaten or impossible; "" if it was, or still races; unchecked, if
            another program may have been trained on the texts.
        reason: the same in words.
    """

    name: str
    overrides: tuple[str, ...]
    fits: list[Fit] = field(default_factory=list)
    predictions: list[Predictions] = field(default_factory=list)
    screened: list[Predictions] = field(default_factory=list)
    end: Literal["", "late", "beaten", "impossible", "unchecked"] = ""
    reason: str = ""

    def mean(self, cost: str) -> float:
        """Return the mean of a cost; infinity if it is not known."""
        return float(np.mean([getattr(fit, cost) for fit in self.fits])) if self.fits else math.inf

    def terms(self, fits: int = FOLDS) -> np.ndarray:
        """Return the scores of the test texts of the first trainings, n; higher is better."""
        return self._by_text([scores_of(part) for part in self.predictions[:fits]])

    def hits(self, fits: int = FOLDS) -> np.ndarray:
        """Return the share of the first trainings after which the test texts are right, n."""
        return self._by_text([part.is_correct.astype(float) for part in self.predictions[:fits]])

    def labels(self, fits: int = FOLDS) -> np.ndarray:
        """Return the labels of the test texts, n."""
        parts = [part.labels for part in self.predictions[:fits]]
        return parts[0] if self.screened else np.concatenate(parts)

    def _by_text(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.mean(parts, 0) if self.screened else np.concatenate(parts)

    def score(self) -> float:
        """Return the mean score of the last training, of the texts that the race reads; higher is better."""
        return float(np.mean(scores_of((self.screened or self.predictions)[-1])))


def scores_of(part: Predictions) -> np.ndarray:
    """Return the terms of the main score, n; higher is better."""
    score = part.task.main_score
    terms = part.terms(score)
    sign = -1 if part.task.scores[score].lower_is_better else 1
    return np.empty(0) if terms is None else sign * terms


@dataclass(frozen=True)
class Curve:
    """The scores of a candidate on the same n test texts after trainings of as many steps on parts of the texts.

    Args:
        texts: numbers of training texts; the last one is that of all.
        terms: for each, n; higher is better.
    """

    texts: tuple[int, ...]
    terms: tuple[np.ndarray, ...]


class Race:
    """The folder of a race, its candidates and its time.

    Args:
        candidates: the overrides of each candidate by its name.
        train: trains with overrides, without some callbacks.
        texts: to time predictions.
        minutes: within which trainings end.
        say: shows the progress.
        seed: None: trainings on folds; otherwise the first of several seeds, with a test split.
        outside: predictions of other programs by name, which join the candidates after the race.
    """

    def __init__(
        self,
        folder: Path,
        candidates: Mapping[str, Sequence[str]],
        train: Train,
        texts: Sequence[Any],
        minutes: float,
        say: Callable[[str], None],
        seed: int | None = None,
        outside: Mapping[str, Outside] = MappingProxyType({}),
    ) -> None:
        self.folder, self.train, self.texts, self.seconds, self.say = folder, train, texts, 60 * minutes, say
        self.seed, self.outside = seed, outside
        self.entries = [Entry(name, tuple(overrides)) for name, overrides in candidates.items()]
        self.known: dict[str, Any] = {}
        self.seed_of_refit = 0  # beyond the first one
        record = {"candidates": {entry.name: list(entry.overrides) for entry in self.entries}, "fits": {}}
        if (file := folder / FITS_FILE).exists():
            stored = json.loads(file.read_text(encoding="utf-8"))
            if stored["candidates"] != record["candidates"]:
                raise UserError(f"{folder}: holds a race with other candidates or options: choose another out=…")
            self.known = stored["fits"]
        self.record = {**record, "fits": self.known}

    def run(self) -> None:
        """Train the first candidate, then the others, fold by fold or seed by seed; the beaten ones end.

        A training starts only if one as long as the candidate's earlier ones, and that of the winner, end in time.
        """
        first, *others = self.entries
        for number in range(FOLDS if self.seed is None else 1):
            self._fit(first, number)
        programs = [self._program(name, outside) for name, outside in self.outside.items()]
        if self.seed is None:
            self._race_over_folds(others)
        else:
            self._race_over_seeds(others)
        self.entries += programs

    def _race_over_folds(self, others: Sequence[Entry]) -> None:
        for fold in range(FOLDS):
            self._leave_out(others, fold)
            self._fit_all(others, fold)
            if fold < FOLDS - 1 and self._is_decided(fold + 1) and not self.outside:
                return

    def _race_over_seeds(self, others: Sequence[Entry]) -> None:
        self._fit_all(others, 0)
        self._select_finalists()
        for number in range(1, MOST_SEEDS):
            racing = [entry for entry in self.entries if not entry.end]
            curve = len(SHARES) * max((entry.mean("seconds") for entry in racing), default=0)
            if number >= SEEDS and self._needed(racing, [number]) + curve > self._left():
                return
            self._fit_all(racing, number)

    def _program(self, name: str, outside: Outside) -> Entry:
        """Return the predictions of another program as a candidate; they are for the test texts of the first one."""
        first = self.entries[0]
        if name in {entry.name for entry in self.entries}:
            raise UserError(f"outside.{name}: a candidate has this name; choose another one")
        folders = [self.folder_of(first, number) for number in range(len(first.fits))]
        variant = outside_variant(name, outside, [FinishedRun(path, RunResult.load(path), {}) for path in folders])
        parts = [run.predictions() for run in variant.runs]
        if not len(scores_of(parts[0])):
            score = parts[0].task.main_score
            raise UserError(f"outside.{name}: {score} needs probabilities: add the columns probability_<class>")
        entry = Entry(name, (), [], parts, parts if self.seed is not None else [])
        if not variant.is_checked:
            entry.end, entry.reason = "unchecked", "was it trained on these texts? Its file has no column fold"
        return entry

    def _left(self) -> float:
        """Return the seconds that are left beside those in which any racing candidate is trained on all texts."""
        racing = [entry.mean("seconds") for entry in self.entries if entry.fits and not entry.end]
        return self.seconds - self.spent() - max(racing, default=0)

    def _needed(self, entries: Sequence[Entry], numbers: Sequence[int]) -> float:
        """Return the seconds of those of the trainings that are still to be done."""
        missing = [entry for entry in entries for number in numbers if self._key(entry, number) not in self.known]
        return sum(entry.mean("seconds") for entry in missing if entry.fits)

    def _key(self, entry: Entry, number: int) -> str:
        return f"{entry.name}/{self._distinct(entry, number)}"

    def _distinct(self, entry: Entry, number: int) -> int:
        """Return the number of a training, or that of the first one if it would only repeat it with another seed."""
        return 0 if self.seed is not None and entry.fits and not entry.fits[0].is_random else number

    def _leave_out(self, entries: Sequence[Entry], fold: int) -> None:
        """End the worst racing candidates as long as there is no time for the other folds of all."""
        racing = sorted((entry for entry in entries if entry.fits and not entry.end), key=lambda e: e.terms().mean())
        while len(racing) > 1 and self._needed(racing, range(fold, FOLDS)) > self._left():
            worst = racing.pop(0)
            worst.end, worst.reason = "late", "no time"

    def _fit_all(self, entries: Sequence[Entry], number: int) -> None:
        """Train the racing ones of some candidates, as long as there is time."""
        for entry in [entry for entry in entries if not entry.end]:
            if self._key(entry, number) not in self.known and self._needed([entry], [number]) >= self._left():
                entry.end, entry.reason = "late", "no time"
                continue
            try:
                self._fit(entry, number)
            except UserError as error:  # such as a component that cannot read pairs
                if number:
                    raise
                entry.end, entry.reason = "impossible", str(error)

    def spent(self) -> float:
        """Return the seconds of all trainings, also of those before an interruption."""
        return sum(fit["seconds"] for fit in self.known.values())

    def refit(self, entry: Entry) -> Any:
        """Train a candidate on all texts, except those that it holds out for validation.

        A training that ends clearly worse on its validation texts than all those of the race is repeated with other
        seeds, because nothing else would show that it failed, and the best one is kept. If another seed ends alike, the
        validation texts, which are the same, are harder than those of the race.
        """
        known = [fit.monitored for fit in entry.fits if fit.monitored is not None]
        limit, values = _limit(known) if known else math.inf, list[float]()
        folder, kept = self.folder / "winner", self.folder / ".winner"  # of the last training, and of the best before
        best = None
        for seed in range(SEEDS):
            shutil.rmtree(folder, ignore_errors=True)
            lines = [*self.lines_of_refit(entry, seed), "logger=none", f"hydra.run.dir={quote(str(folder))}"]
            run = self.train(lines, ("graphs", "baseline"))
            if (value := _monitored(run)) is None or value <= limit:
                self.seed_of_refit = seed
                return run
            if value < min(values, default=math.inf):
                best, self.seed_of_refit = run, seed
                shutil.rmtree(kept, ignore_errors=True)
                folder.rename(kept)
            values.append(value)
            if seed and abs(value - values[-2]) <= ALIKE * abs(values[-2]):
                self.say(f"{entry.name}: another seed ended alike, so the validation texts are harder")
                break
            ended = run.result.best.describe()
            self.say(f"{entry.name}: the training on all texts ended worse than those of the race, at {ended}")
        shutil.rmtree(folder, ignore_errors=True)
        kept.rename(folder)
        return best

    def write_folds(self) -> None:
        """Write folds.csv: the origin, label and fold of each text, for models of other programs on the same folds.

        With a test split, it has the test texts, whose fold is 0.
        """
        rows, columns = list[dict[str, str]](), dict[str, None]()
        for number in range(FOLDS if self.seed is None else 1):
            for row in read_rows(self.folder_of(self.entries[0], number) / "predictions" / "test.csv"):
                given = dict(list(row.items())[: list(row).index("label") + 1])
                rows.append({**given, "fold": str(number)})
                columns |= dict.fromkeys(rows[-1])
        if rows:
            lines = (csv_line([row.get(name) for name in columns]) for row in rows)
            write_text(self.folder / "folds.csv", csv_line(list(columns)) + "".join(lines))

    def lines_of_refit(self, entry: Entry, seed: int | None = None) -> list[str]:
        """Return the overrides of the training on all texts, by default of the one that was kept."""
        number = self.seed_of_refit if seed is None else seed
        other = [f"seed={(self.seed or 0) + number}"] if number else []
        return replaced(entry.overrides, ["test=false", "data.test_fraction=0", *other])

    def learn(self, entry: Entry) -> Curve | None:
        """Train a candidate on parts of its training texts; return None if there is no time for it.

        An epoch of half of the texts has half of the steps: so many more epochs, and epochs between two validations,
        keep the numbers of steps and of validations.
        """
        folds = max(1, int(CURVE_SECONDS / len(SHARES) / entry.mean("cpu_seconds")))
        trainings = range(1 if self.seed is not None else min(folds, len(entry.fits)))
        folders = [self.folder_of(entry, number) for number in trainings]
        config, result = read_options(folders[0] / "config.yaml"), RunResult.load(folders[0])
        size, trainer = result.data.splits["train"].texts or 0, config["trainer"]
        found = []
        for share in SHARES:
            parts = []
            for number in trainings:
                key = f"{entry.name}/{number} {share}"
                if key not in self.known and entry.mean("seconds") >= self._left():
                    return None
                lines = [f"data.train_limit={round(size / share)}", f"data.batch_size={result.data.batch_size}"]
                for option in ("max_epochs", "check_val_every_n_epoch"):
                    if (trainer.get(option) or 0) > 0:
                        lines.append(f"trainer.{option}={trainer[option] * share}")
                folder = self.folder_of(entry, number, share)
                test, *_ = self._trained(key, folder, replaced(entry.overrides, [*self._division(number), *lines]))
                parts.append(scores_of(test))
            found.append(np.concatenate(parts))
            self.say(f"{entry.name}: trained on {round(size / share):,} of {size:,} texts")
        whole = np.concatenate([scores_of(entry.predictions[number]) for number in trainings])
        return Curve((*(round(size / share) for share in SHARES), size), (*found, whole))

    def _time_prediction(self, model: Any) -> float:
        """Return the milliseconds of CPU time that the prediction of a text takes, a mean over some texts."""
        model.predict_proba(self.texts)  # the first call prepares
        before = time.process_time()
        model.predict_proba(self.texts)
        return 1000 * (time.process_time() - before) / len(self.texts)

    def _is_decided(self, folds: int) -> bool:
        """End the beaten candidates; return whether no further fold would change the answer."""
        racing = [entry for entry in self.entries if len(entry.fits) >= folds and not entry.end]
        terms = np.stack([entry.terms(folds) for entry in racing])
        costs = [entry.mean("cpu_seconds") for entry in racing]
        for row, (reason, leader) in find_beaten(terms, range(len(racing)), folds, costs, FOLDS).items():
            racing[row].end, racing[row].reason = "beaten", f"{reason} {racing[leader].name}"
            self.say(f"{racing[row].name}: ends after fold {folds}, {racing[row].reason}")
        return is_decided(terms[[not entry.end for entry in racing]], folds)

    def _select_finalists(self) -> None:
        """End all candidates but the first and those with the best scores of the validation texts."""
        others = [entry for entry in self.entries[1:] if entry.fits]
        others.sort(key=Entry.score, reverse=True)
        for entry in others[FINALISTS - 1 :]:
            better = format_names(other.name for other in others[: FINALISTS - 1])
            entry.end, entry.reason = "beaten", f"worse than {better} on the validation texts"
            self.say(f"{entry.name}: ends, {entry.reason}")

    def _fit(self, entry: Entry, number: int) -> None:
        """Train a candidate on all folds but one or with a seed, or read what an earlier race has written."""
        key, folder = self._key(entry, number), self.folder_of(entry, self._distinct(entry, number))
        test, *val = self._trained(key, folder, replaced(entry.overrides, self._division(number)))
        entry.fits.append(Fit(**self.known[key]))
        entry.predictions.append(test)
        entry.screened += val
        same = self.entries[0].predictions[number if self.seed is None else 0]
        if not np.array_equal(test.labels, same.labels):
            raise UserError(f"{folder}: its texts are not those of {self.entries[0].name}: the data have changed")
        count = f"fold {number + 1} of {FOLDS}" if self.seed is None else f"seed {number + 1}"
        cost = entry.fits[-1].cpu_seconds
        if key == f"{entry.name}/{number}":
            self.say(f"{entry.name}: {count}, {test.task.main_score} {abs(entry.score()):.3f}, {cost:.1f} CPU s")

    def _division(self, number: int) -> list[str]:
        folds = [f"data.folds={FOLDS}", f"data.fold={number}"]
        return folds if self.seed is None else [f"seed={self.seed + number}"]

    def folder_of(self, entry: Entry, number: int, share: int = 1) -> Path:
        """Return the folder of a training; those of the curve, on other texts, are hidden from `compare`."""
        name = f"{'fold' if self.seed is None else 'seed'}{number}"
        hidden = self.folder / ".curve" / entry.name / f"{name}_{share}"
        return self.folder / entry.name / name if share == 1 else hidden

    def _trained(self, key: str, folder: Path, lines: Sequence[str]) -> list[Predictions]:
        """Train unless `known` has the key, and return the predictions of the test texts and, with seeds, of the
        validation texts.
        """
        if key not in self.known:
            shutil.rmtree(folder, ignore_errors=True)
            started, before = time.perf_counter(), cpu_seconds()
            run = self.train([*lines, f"hydra.run.dir={quote(str(folder))}", *OF_A_FIT], WITHOUT)
            cost, seconds = cpu_seconds() - before, time.perf_counter() - started
            best = folder / "checkpoints" / "best.ckpt"
            size = best.stat().st_size
            best.unlink()
            ms_per_text = self._time_prediction(run.model)
            is_random = run.model.members[0].model.is_random
            self.known[key] = asdict(Fit(seconds, cost, ms_per_text, size / 1e6, _monitored(run), is_random))
            write_json(self.folder / FITS_FILE, self.record)
        files = [folder / "predictions" / f"{name}.npz" for name in ("test", "val")[: 1 if self.seed is None else 2]]
        if not all(map(Path.exists, files)):
            raise UserError(f"{folder}: its predictions are missing: remove {self.folder}, and begin again")
        return list(map(Predictions.load, files))


def _limit(known: Sequence[float]) -> float:
    """Return the value that a training on all texts exceeds only if it fails.

    The values are means over validation texts that differ from fold to fold; so does their number. A further one
    exceeds the prediction limit of a normal sample with the probability UNLUCKY.
    """
    worst, size = max(known), len(known)
    if size < 2:
        return worst + WORSE * abs(worst)
    width = float(stdtrit(size - 1, 1 - UNLUCKY)) * float(np.std(known, ddof=1)) * math.sqrt(1 + 1 / size)
    return max(worst + WORSE * abs(worst), float(np.mean(known)) + width)


def _monitored(run: Any) -> float | None:
    """Return the value that the best checkpoint monitored, with the sign with which lower is better; None without."""
    best = run.result.best
    return None if best.value is None else -best.value if best.mode == "max" else best.value


def replaced(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the overrides, without those of the keys that the others set, and the others."""
    keys = set(map(key_of, others))
    return [*(line for line in lines if key_of(line) not in keys), *others]
