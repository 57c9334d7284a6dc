"""Measurement of speeds in turn, and even samples."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from rich.console import Console
from rich.progress import track

MIN_REVIEWS = 64  # minimum number of reviews in a measurement: two batches

Item = TypeVar("Item")
Reader = Callable[[int], float]  # processes about this number of reviews, and returns the reviews per second


class Spread(NamedTuple):
    """The median and the range of several measurements."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))

    def format(self, digits: int) -> str:
        """Format the median and the range with `digits` decimals."""
        median, low, high = (f"{value:,.{digits}f}" for value in self)
        return f"{median} ({low}–{high})"


def in_turn(
    implementations: Mapping[str, Reader], seconds: float, repeats: int, title: str = ""
) -> dict[str, list[float]]:
    """Measure the reviews per second of each implementation, `repeats` times.

    The implementations take turns of about `seconds`, with the order reversed in every second round, so that a slow
    minute of the machine slows all of them. Before its turn, each implementation reads some reviews, because it is
    slower directly after another one. The first round is a warm-up and is not recorded.
    """
    reviews: dict[str, int] = {}
    speeds: dict[str, list[float]] = {name: [] for name in implementations}
    console = Console(stderr=True)
    for repeat in track(range(repeats + 1), title, console=console, transient=True, disable=not console.is_terminal):
        for name in list(speeds)[:: -1 if repeat % 2 else 1]:
            read = implementations[name]
            try:
                reviews[name] = reviews.get(name) or reviews_for(read, seconds)
                read(MIN_REVIEWS)
                speed = read(reviews[name])
            except RuntimeError as error:  # of the device
                del speeds[name]
                console.print(f"{name} failed: {str(error).splitlines()[0]}", markup=False)
                continue
            if repeat:
                speeds[name].append(speed)
    return speeds


def reviews_for(read: Reader, seconds: float) -> int:
    """Return the number of reviews that take about `seconds`, from a measurement of at least half this duration."""
    read(MIN_REVIEWS)
    reviews = MIN_REVIEWS
    while reviews / (speed := read(reviews)) < seconds / 2:
        reviews *= 2
    return max(MIN_REVIEWS, round(seconds * speed))


def evenly(ranked: Sequence[Item], count: int) -> list[Item]:
    """Return `count` items (at least one) at equal distances, with half a distance at both ends; at most all items."""
    count = min(max(1, count), len(ranked))
    return [ranked[int((number + 0.5) * len(ranked) / count)] for number in range(count)]
