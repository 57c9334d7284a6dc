"""The interface through which loggers receive the results that Lightning does not log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger

from src.reports.examples import Example, read_examples
from src.reports.files import Predictions, read_predictions
from src.run_result import RunResult, Score

TEXT_PICTURES = ("strip", "heatmap", "heads")  # kinds of pictures that show one text


@dataclass(frozen=True)
class Report:
    """The results of a tested run.

    Args:
        metrics: final metrics with intervals, by name (such as test/acc).
        step: number of optimizer steps at the end of training.
        pictures: PNG files by name; the names are the same in every run.
        pages: HTML files by name.
        predictions: predictions for the evaluated split; None if there are none.
        examples: texts with the weights of their words.
    """

    metrics: Mapping[str, Score]
    step: int
    pictures: Mapping[str, Path]
    pages: Mapping[str, Path]
    predictions: Predictions | None
    examples: Sequence[Example]

    @classmethod
    def of(cls, run: Path, metrics: Mapping[str, Score], files: Sequence[Path], step: int) -> "Report":
        """Create the report of a run from its folder, its metrics and the files of its pictures and pages."""
        predictions = read_predictions(run)
        names = predictions.class_names if predictions else []
        pictures = name_pictures([path for path in files if path.suffix == ".png"])
        pages = {path.stem: path for path in files if path.suffix == ".html"}
        return cls(metrics, step, pictures, pages, predictions, read_examples(run, names))

    def numbers(self) -> dict[str, float]:
        """Return each metric's value and bounds of the 95 % interval, if defined, and each split's number of texts."""
        numbers: dict[str, float] = {}
        for name, score in self.metrics.items():
            values = {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
            values[f"{name.split('/')[0]}/n"] = score.n
            numbers |= {key: number for key, number in values.items() if number is not None}
        return numbers


class Tracker(Logger):
    """A Lightning logger that also logs a run's description, report, final numbers and status."""

    def continue_run(self) -> None:
        """Continue the log of the earlier run in the same folder. A resumed run calls this before it logs anything."""

    def describe(self, result: RunResult) -> None:
        """Log the run's description."""
        raise NotImplementedError

    def show(self, report: Report) -> None:
        """Log the results of the test."""
        raise NotImplementedError

    def close(self, result: RunResult) -> None:
        """Log the run's final numbers and status, and end the log."""
        raise NotImplementedError


def description(result: RunResult) -> dict[str, Any]:
    """Return a run's choices of components, its variant (encoder and attention) and its overrides."""
    return {"choices": dict(result.choices), "variant": result.architecture, "overrides": list(result.overrides)}


def final_numbers(result: RunResult) -> dict[str, float]:
    """Return the parameters, seconds, speed, peak memory, best score and best epoch of a run, if they are known."""
    parameters, seconds, memory, best = result.parameters, result.seconds, result.peak_memory_mb, result.best
    numbers = {
        "parameters/total": parameters.total,
        "parameters/trainable": parameters.trainable,
        **{f"parameters/{name}": count for name, count in parameters.by_part.items()},
        "seconds/total": seconds.total,
        "seconds/fit": seconds.fit,
        "seconds/test": seconds.test,
        "seconds/epoch": sum(seconds.per_epoch) / len(seconds.per_epoch) if seconds.per_epoch else None,
        "peak_memory_mb/process": memory.process,
        "peak_memory_mb/cuda": memory.cuda,
        "best/value": best.value,
        "best/epoch": best.epoch,
        "texts_per_second": result.texts_per_second,
    }
    return {name: value for name, value in numbers.items() if value is not None}


def name_pictures(pictures: Sequence[Path]) -> dict[str, Path]:
    """Return PNG files by name; pictures of single texts are numbered from 1: strip_test_417.png → strip_1.

    Runs show different texts, but a dashboard needs the same names in all runs.
    """
    numbers: dict[str, int] = {}
    named: dict[str, Path] = {}
    for picture in pictures:
        name = picture.stem
        kind, _, text = name.partition("_")
        if kind in TEXT_PICTURES:
            name = f"{kind}_{numbers.setdefault(text, len(numbers) + 1)}"
        named[name] = picture
    return named
