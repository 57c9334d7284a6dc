"""The winner of a shortlist: trained on all texts, exported, and shown on a page."""

import math
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from heedful.base.errors import UserError
from heedful.base.optional_packages import MissingExtra
from heedful.launch.trained_run import TrainedRun
from heedful.models.ensemble import Ensemble
from heedful.portable.folder import export_member
from heedful.report.advice import use_commands
from heedful.report.run_report import write_page
from heedful.report.section import Command
from heedful.runs.folder import BEST
from heedful.runs.result import RunResult
from heedful.runs.run_files import Predictions, read_predictions, read_rows
from heedful.selection.choice import AHEAD, Gain
from heedful.selection.entries import Entry, scores_of, turned
from heedful.selection.race import SEEDS, Race, replaced
from heedful.training.build import make
from heedful.training.restoring import restore

Place = tuple[str, ...]  # the file of a text, and its place in it


def refit(race: Race, entry: Entry) -> tuple[TrainedRun, list[str]]:
    """Train a candidate on all texts, except those that it holds out for validation; also return the overrides.

    Only these texts can show that a training has failed. If it is probably worse on them than the trainings of the
    race that were not trained on them, it is repeated with other seeds, if these matter, and the best one is kept.
    """
    folder, kept, known = race.folder / "winner", race.folder / ".winner", _scores_of_race(race, entry)
    best, found = -math.inf, None
    for number in range(SEEDS if entry.fits[0].is_random else 1):
        seed = [f"seed={race.seed + number}"] if number else []
        lines = replaced(entry.overrides, ["test=false", "data.test_fraction=0", *seed])
        run = race.train(lines, folder)
        scores = _scores_of_validation(race, run, lines)
        pairs = [(score, known[place]) for place, score in scores.items() if place in known]
        ours, theirs = np.array(pairs if len(pairs) > 1 else [(0.0, 0.0)] * 2).T
        if ours.mean() > best:
            best, found = float(ours.mean()), (run, lines)
            shutil.rmtree(kept, ignore_errors=True)
            folder.rename(kept)
        gain = Gain.of(ours - theirs)
        if gain.value >= -AHEAD * gain.error or not entry.fits[0].is_random:
            break
        means = " and not ".join(f"{turned(run.model.task, part.mean()):.3f}" for part in (ours, theirs))
        race.say(f"{entry.name}: the training on all texts has probably failed: {means} on its validation texts")
    shutil.rmtree(folder, ignore_errors=True)
    kept.rename(folder)
    assert found is not None, "a mean score is finite"
    return found


def _scores_of_race(race: Race, entry: Entry) -> dict[Place, float]:
    """Return the mean score of each text after the trainings of the race that were not trained on it."""
    found = defaultdict[Place, list[float]](list)
    for folder in {race.folder_of(entry, race.distinct(entry, number)) for number in range(len(entry.fits))}:
        for file in (folder / "predictions").glob("*.npz"):
            scores = scores_of(Predictions.load(file)).tolist()
            for row, score in zip(read_rows(file.with_suffix(".csv")), scores, strict=False):
                found[_place(list(row.values()))].append(score)
    return {place: float(np.mean(scores)) for place, scores in found.items()}


def _scores_of_validation(race: Race, run: TrainedRun, lines: Sequence[str]) -> dict[Place, float]:
    """Return the score of each validation text after the training on all texts."""
    source = race.source(race.compose(lines))
    rows = range(source.sizes.get("val", 0))
    if not rows:
        return {}
    probabilities, _ = run.model.classify(source.table("val", rows))
    labels = np.asarray(source.tokenized("val").labels)
    evaluated = {"probabilities": probabilities, "labels": labels, "index": np.array(rows)}
    scores = scores_of(Predictions.of("val", run.model.task, evaluated, None)).tolist()
    return dict(zip(map(_place, zip(*source.origins("val", rows).values(), strict=True)), scores, strict=False))


def _place(origin: Sequence[Any]) -> Place:
    return tuple(map(str, origin[:2]))


def export(winner: TrainedRun, out: Path) -> str:
    """Write the winner for use without Heedful, if the packages for it are installed; return what was done."""
    shutil.rmtree(out, ignore_errors=True)
    try:
        export_member(winner.model.members[0], str(out))
    except (MissingExtra, UserError) as error:
        return f"The winner was not exported: {error}"
    return f"The winner was exported to {out}"


def use(run: TrainedRun) -> Command:
    """Return the command that predicts a text."""
    return replace(use_commands(run.folder, {"text": run.model.members[0].card.text_column})[0], title="Use the winner")


def show(race: Race, entry: Entry) -> None:
    """Write the page of the winner, from texts of the race, because no text is left to test it."""
    tested = race.folder_of(entry, 0)
    result, predictions = RunResult.load(tested), read_predictions(tested)
    assert predictions is not None, f"{tested} had predictions after its training"
    cfg, best = race.compose(race.lines(entry, 0)), tested / "checkpoints" / BEST
    if best.exists() and OmegaConf.select(cfg, "callbacks.removal") is not None:
        removal, arrays = make(cfg, "callbacks.removal", folder=str(tested)), predictions._asdict()
        removal.write(race.source(cfg), Ensemble([restore(str(best), cfg.extras)]), predictions.task, arrays)
    size = len(predictions.labels)
    where = "in the first fold" if race.has_folds else "in the test split"
    note = (
        f"The winner is trained on all texts, so none is left to test it: this page is about the same model trained "
        f"without the {size:,} texts {where}; the shortlist has the scores of all trainings."
    )
    write_page(tested, result, predictions, (race.folder / "winner").resolve(), note)
