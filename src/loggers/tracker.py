"""What a run tells a logger beside the metrics that Lightning logs, whichever logger it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger

from src.analysis.metrics import Metric
from src.reports.files import Example, Predictions, read_examples, read_predictions

OF_A_TEXT = ("strip", "heatmap", "heads")  # kinds of pictures


@dataclass(frozen=True)
class Report:
    """What a tested run shows.

    Args:
        metrics: every final metric with its interval, by names such as test/acc.
        step: the optimizer step at which training ended.
        pictures: PNG files by names that are the same in every run.
        pages: HTML files by their names.
        predictions: of the split that was tested.
        examples: texts with the weights of their words.
    """

    metrics: Mapping[str, Metric]
    step: int
    pictures: Mapping[str, Path]
    pages: Mapping[str, Path]
    predictions: Predictions | None
    examples: Sequence[Example]

    @classmethod
    def of(cls, run: Path, metrics: Mapping[str, Metric], drawn: Sequence[Path], step: int) -> "Report":
        """From the files that a run left, and what was drawn of them."""
        predictions = read_predictions(run)
        names = predictions.class_names if predictions else []
        pictures = by_name([path for path in drawn if path.suffix == ".png"])
        pages = {path.stem: path for path in drawn if path.suffix == ".html"}
        return cls(metrics, step, pictures, pages, predictions, read_examples(run, names))

    def numbers(self) -> dict[str, float]:
        """Each metric's value, the ends of its 95 % interval and, by split, the texts behind it."""
        numbers: dict[str, float] = {}
        for name, (value, low, high, n) in self.metrics.items():
            ends = {name: value, f"{name}_low": low, f"{name}_high": high, f"{name.split('/')[0]}/n": n}
            numbers |= {key: number for key, number in ends.items() if number is not None}
        return numbers


class Tracker(Logger):
    """A Lightning logger that takes part in a run from its beginning to its end."""

    def describe(self, facts: Mapping[str, Any]) -> None:
        """What is trained: the run's `choices` of parts, their names together as its `variant`, and its `overrides`."""
        raise NotImplementedError

    def show(self, report: Report) -> None:
        """What came out of the test."""
        raise NotImplementedError

    def close(self, status: str, numbers: Mapping[str, float]) -> None:
        """The run is over.

        Args:
            status: completed, pruned, interrupted or failed.
            numbers: what it cost, by names such as seconds/total.
        """
        raise NotImplementedError


def costs(record: Mapping[str, Any]) -> dict[str, float]:
    """What a run cost, from its result.json: parameters, seconds, speed and peak memory."""
    seconds = dict(record.get("seconds", {}))
    epochs = seconds.pop("per_epoch", [])
    held = {
        "parameters": {**record.get("parameters", {}), **record.get("parameters", {}).get("by_part", {})},
        "seconds": {**seconds, "epoch": sum(epochs) / len(epochs) if epochs else None},
        "peak_memory_mb": record.get("peak_memory_mb", {}),
        "best": record.get("best", {}),
    }
    named = {f"{group}/{name}": value for group, values in held.items() for name, value in values.items()}
    named["texts_per_second"] = record.get("texts_per_second")
    return {name: value for name, value in named.items() if isinstance(value, (int, float))}


def by_name(pictures: Sequence[Path]) -> dict[str, Path]:
    """PNG files by their names, those of single texts by kind and the number of the text: strip_test_417.png → strip_1.

    Runs show different texts; a dashboard asks all of them for the same names.
    """
    numbers: dict[str, int] = {}
    named = {}
    for picture in pictures:
        kind, _, text = picture.stem.partition("_")
        of_a_text = kind in OF_A_TEXT
        named[f"{kind}_{numbers.setdefault(text, len(numbers) + 1)}" if of_a_text else picture.stem] = picture
    return named
