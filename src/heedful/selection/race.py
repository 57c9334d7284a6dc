"""The race of a shortlist: trainings in one process, until the time is up; it goes on where it ended."""

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from omegaconf import DictConfig

from heedful.base.errors import UserError
from heedful.base.files import csv_line, write_json, write_text
from heedful.base.formatting import format_names
from heedful.config.compose import compose, read_options
from heedful.config.overrides import key_of, quote
from heedful.data.sets import as_sets
from heedful.launch.trained_run import TrainedRun, data_lines, run_training
from heedful.records.outside import Outside, outside_variant
from heedful.records.runs import FinishedRun
from heedful.runs.environment import cpu_seconds
from heedful.runs.folder import BEST
from heedful.runs.result import RunResult
from heedful.runs.run_files import Predictions, read_rows
from heedful.selection.choice import find_beaten, is_decided
from heedful.selection.entries import FOLDS, Curve, Entry, Fit, scores_of, turned
from heedful.training.build import datamodule

if TYPE_CHECKING:
    from heedful.data.source import Source

SEEDS, MOST_SEEDS = 3, 5  # of the finalists; more than SEEDS as time allows
FOLD_TEXTS = 2000  # with more texts, a test split and several seeds take the place of folds
FINALISTS = 3  # candidates with several seeds
SHARES = (4, 2)  # the curve has the scores of so many parts of the training texts
CURVE_SECONDS = 30.0  # CPU seconds within which the curve has more than one fold
TIMED_TEXTS = 100
FITS_FILE = "fits.json"
# A fit writes no files but predictions and the best checkpoint; an interrupted one is not resumed
OF_A_FIT = ("test=true", "hydra.output_subdir=null")
NO_LOGGER = "logger=none"  # also where a configuration is only read, because files are composed once for each choice
OF_FOLD = f"data.folds={FOLDS} data.fold={{}}"
WITHOUT = ("gradient_norms", "attention", "removal", "graphs", "baseline", "last_checkpoint", "page")


class Race:
    """The folder of a race, its candidates and its time.

    Args:
        candidates: the overrides of each candidate by its name.
        data: as for `train`.
        minutes: within which trainings end.
        say: shows the progress.
        outside: predictions of other programs by name, which join the candidates after the race.
    """

    def __init__(
        self,
        folder: Path,
        candidates: Mapping[str, Sequence[str]],
        data: Any,
        minutes: float,
        say: Callable[[str], None],
        outside: Mapping[str, Outside] = MappingProxyType({}),
    ) -> None:
        self.folder, self.data, self.seconds, self.say, self.outside = folder, data, 60 * minutes, say, outside
        self.entries = [Entry(name, tuple(overrides)) for name, overrides in candidates.items()]
        first, *_ = (self.compose(replaced(entry.overrides, OF_FOLD.format(0).split())) for entry in self.entries)
        source = self.source(first)
        self.texts = source.table("test", range(min(TIMED_TEXTS, source.sizes["test"])))  # to time predictions
        self.size, self.seed = sum(source.sizes.values()), int(first.seed or 0)
        self.has_folds = self.size <= FOLD_TEXTS  # otherwise a test split, and several seeds
        self.known: dict[str, Any] = {}
        record: dict[str, Any] = {"candidates": {entry.name: list(entry.overrides) for entry in self.entries}}
        record["data"] = source.data_fingerprint
        if (file := folder / FITS_FILE).exists():
            stored = json.loads(file.read_text(encoding="utf-8"))
            self.known = stored.pop("fits")
            if stored != record:
                raise UserError(f"{folder}: holds a race with other candidates, options or data: choose another out=…")
        self.record = {**record, "fits": self.known}

    def compose(self, lines: Sequence[str]) -> DictConfig:
        """Return the configuration of a training."""
        return compose([*data_lines(lines, self.data), *replaced(lines, [NO_LOGGER])])

    def source(self, cfg: DictConfig) -> "Source":
        """Return the texts of a training."""
        is_file = self.data is None or isinstance(self.data, str | PathLike)
        return datamodule(cfg, sets=None if is_file else as_sets(self.data, cfg.data.text, cfg.data.label))

    def train(self, lines: Sequence[str], folder: Path) -> TrainedRun:
        """Train in a new folder, and write only what a fit needs."""
        shutil.rmtree(folder, ignore_errors=True)
        lines = [*lines, NO_LOGGER, f"hydra.run.dir={quote(str(folder))}"]
        return run_training(lines, self.data, "shortlist(…)", False, WITHOUT)

    def run(self) -> None:
        """Train the first candidate, then the others, fold by fold or seed by seed; the beaten ones end.

        A training starts only if one as long as the candidate's earlier ones, and that of the winner, end in time.
        """
        first, *others = self.entries
        for number in range(FOLDS if self.has_folds else 1):
            self._fit(first, number)
        programs = [self._program(name, outside) for name, outside in self.outside.items()]
        if self.has_folds:
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
            curve = len(SHARES) * max((entry.median("seconds") for entry in racing), default=0)
            if number >= SEEDS and self._are_late(racing, [number], curve):
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
        entry = Entry(name, (), [], parts, [] if self.has_folds else parts)
        if not variant.is_checked:
            entry.end, entry.reason = "unchecked", "was it trained on these texts? Its file has no column fold"
        return entry

    def _left(self) -> float:
        """Return the seconds that are left beside those in which any racing candidate is trained on all texts."""
        racing = [entry.median("seconds") for entry in self.entries if entry.fits and not entry.end]
        return self.seconds - self.spent() - max(racing, default=0)

    def _are_late(self, entries: Sequence[Entry], numbers: Sequence[int], more: float = 0.0) -> bool:
        """Return whether those of the trainings that are still to be done, and so many seconds, do not end in time."""
        missing = [entry for entry in entries for number in numbers if self._key(entry, number) not in self.known]
        needed = sum(entry.median("seconds") for entry in missing if entry.fits)
        return bool(missing) and needed + more >= self._left()

    def _key(self, entry: Entry, number: int) -> str:
        return f"{entry.name}/{self.distinct(entry, number)}"

    def distinct(self, entry: Entry, number: int) -> int:
        """Return the number of a training, or that of the first one if it would only repeat it with another seed."""
        return number if self.has_folds or not entry.fits or entry.fits[0].is_random else 0

    def _leave_out(self, entries: Sequence[Entry], fold: int) -> None:
        """End the worst racing candidates as long as there is no time for the other folds of all."""
        racing = sorted((entry for entry in entries if entry.fits and not entry.end), key=lambda e: e.terms().mean())
        while len(racing) > 1 and self._are_late(racing, range(fold, FOLDS)):
            worst = racing.pop(0)
            worst.end, worst.reason = "late", "no time"

    def _fit_all(self, entries: Sequence[Entry], number: int) -> None:
        """Train the racing ones of some candidates, as long as there is time."""
        for entry in [entry for entry in entries if not entry.end]:
            if self._are_late([entry], [number]):
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

    def write_folds(self) -> None:
        """Write folds.csv: the origin, label and fold of each text, for models of other programs on the same folds.

        With a test split, it has the test texts, whose fold is 0.
        """
        rows, columns = list[dict[str, str]](), dict[str, None]()
        for number in range(FOLDS if self.has_folds else 1):
            for row in read_rows(self.folder_of(self.entries[0], number) / "predictions" / "test.csv"):
                given = dict(list(row.items())[: list(row).index("label") + 1])
                rows.append({**given, "fold": str(number)})
                columns |= dict.fromkeys(rows[-1])
        if rows:
            lines = (csv_line([row.get(name) for name in columns]) for row in rows)
            write_text(self.folder / "folds.csv", csv_line(list(columns)) + "".join(lines))

    def learn(self, entry: Entry) -> Curve | None:
        """Train a candidate on parts of its training texts; return None if there is no time for it.

        An epoch of half of the texts has half of the steps: so many more epochs, and epochs between two validations,
        keep the numbers of steps and of validations.
        """
        folds = max(1, int(CURVE_SECONDS / len(SHARES) / entry.median("cpu_seconds")))
        trainings = range(min(folds, len(entry.fits)) if self.has_folds else 1)
        folders = [self.folder_of(entry, number) for number in trainings]
        config, result = read_options(folders[0] / "config.yaml"), RunResult.load(folders[0])
        size, trainer = result.data.splits["train"].texts or 0, config["trainer"]
        found = []
        for share in SHARES:
            parts = []
            for number in trainings:
                key = f"{entry.name}/{number} {share}"
                if key not in self.known and entry.median("seconds") >= self._left():
                    return None
                lines = [f"data.train_limit={round(size / share)}", f"data.batch_size={result.data.batch_size}"]
                for option in ("max_epochs", "check_val_every_n_epoch"):
                    if (trainer.get(option) or 0) > 0:
                        lines.append(f"trainer.{option}={trainer[option] * share}")
                folder = self.folder_of(entry, number, share)
                test, *_ = self._trained(key, folder, self.lines(entry, number, *lines))
                parts.append(scores_of(test))
            found.append(np.concatenate(parts))
            self.say(f"{entry.name}: trained on {round(size / share):,} of {size:,} texts")
        whole = np.concatenate([scores_of(entry.predictions[number]) for number in trainings])
        return Curve((*(round(size / share) for share in SHARES), size), (*found, whole))

    def _is_decided(self, folds: int) -> bool:
        """End the beaten candidates; return whether no further fold would change the answer."""
        racing = [entry for entry in self.entries if len(entry.fits) >= folds and not entry.end]
        terms = np.stack([entry.terms(folds) for entry in racing])
        costs = [entry.median("cpu_seconds") for entry in racing]
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
        key, folder = self._key(entry, number), self.folder_of(entry, self.distinct(entry, number))
        test, *val = self._trained(key, folder, self.lines(entry, number))
        entry.fits.append(Fit(**self.known[key]))
        entry.predictions.append(test)
        entry.screened += val
        same = self.entries[0].predictions[number if self.has_folds else 0]
        if not np.array_equal(test.labels, same.labels):
            raise UserError(f"{folder}: its texts are not those of the first candidate: all read the same data")
        count = f"fold {number + 1} of {FOLDS}" if self.has_folds else f"seed {number + 1}"
        cost = entry.fits[-1].cpu_seconds
        if key == f"{entry.name}/{number}":
            score = f"{test.task.main_score} {turned(test.task, entry.score()):.3f}"
            self.say(f"{entry.name}: {count}, {score}, {cost:.1f} CPU s")

    def lines(self, entry: Entry, number: int, *others: str) -> list[str]:
        """Return the overrides of a training."""
        division = OF_FOLD.format(number).split() if self.has_folds else [f"seed={self.seed + number}"]
        return replaced(entry.overrides, [*division, *others])

    def folder_of(self, entry: Entry, number: int, share: int = 1) -> Path:
        """Return the folder of a training; those of the curve, on other texts, are hidden from `compare`."""
        name = f"{'fold' if self.has_folds else 'seed'}{number}"
        hidden = self.folder / ".curve" / entry.name / f"{name}_{share}"
        return self.folder / entry.name / name if share == 1 else hidden

    def _trained(self, key: str, folder: Path, lines: Sequence[str]) -> list[Predictions]:
        """Train unless `known` has the key, and return the predictions of the test texts and, with seeds, of the
        validation texts.
        """
        if key not in self.known:
            started, before = time.perf_counter(), cpu_seconds()
            run = self.train([*lines, *OF_A_FIT], folder)
            cost, seconds = cpu_seconds() - before, time.perf_counter() - started
            best = folder / "checkpoints" / BEST
            size, is_random = best.stat().st_size / 1e6, run.model.members[0].model.is_random
            if not key.endswith("/0"):  # the first one explains the winner
                best.unlink()
            self.known[key] = asdict(Fit(seconds, cost, run.model.time_texts(self.texts), size, is_random))
            write_json(self.folder / FITS_FILE, self.record)
        files = [folder / "predictions" / f"{name}.npz" for name in ("test", "val")[: 1 if self.has_folds else 2]]
        if not all(map(Path.exists, files)):
            raise UserError(f"{folder}: its predictions are missing: remove {self.folder}, and begin again")
        return list(map(Predictions.load, files))


def replaced(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the overrides, without those of the keys that the others set, and the others."""
    keys = set(map(key_of, others))
    return [*(line for line in lines if key_of(line) not in keys), *others]
