"""Speeds measured in turn, over items of all sizes, and the arithmetic of comparing them."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track

LEAST = 64  # reviews in a measurement: two batches

Reader = Callable[[int], float]  # reads about so many reviews and returns how many it read a second


class Spread(NamedTuple):
    """Several measurements of one thing."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))

    def show(self, digits: int) -> str:
        """The median, and the lowest to the highest."""
        median, low, high = (f"{value:,.{digits}f}" for value in self)
        return f"{median} ({low}–{high})"


def in_turn(contestants: Mapping[str, Reader], seconds: float, repeats: int, doing: str = "") -> dict[str, list[float]]:
    """Reviews a second of each contestant, `repeats` times.

    One after another they read for about `seconds` each, in the opposite order every other time, so that what slows
    the machine for a while slows them all. A little is read before each, for whoever comes after another is slower at
    first. The first round, which warms up, does not count.
    """
    reviews = {name: enough(read, seconds) for name, read in contestants.items()}
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    console = Console(stderr=True)
    for repeat in track(range(repeats + 1), doing, console=console, transient=True, disable=not console.is_terminal):
        for name in list(contestants)[:: -1 if repeat % 2 else 1]:
            contestants[name](LEAST)
            speed = contestants[name](reviews[name])
            if repeat:
                speeds[name].append(speed)
    return speeds


def enough(read: Reader, seconds: float) -> int:
    """How many reviews take a contestant about `seconds`, by a reading of half as long: one of two batches misleads."""
    read(LEAST)
    reviews = LEAST
    while reviews / (speed := read(reviews)) < seconds / 2:
        reviews *= 2
    return max(LEAST, round(seconds * speed))


def evenly(ranked: Any, count: int) -> Any:
    """`count` of the items, or all if there are fewer, as far from each other as can be; the ends weigh no more."""
    count = min(max(1, count), len(ranked))
    at = ((np.arange(count) + 0.5) * len(ranked) / count).astype(int)
    return ranked[at] if isinstance(ranked, np.ndarray) else [ranked[i] for i in at]


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """How many times as fast as theirs ours was, round by round."""
    return [mine / other for mine, other in zip(ours, theirs, strict=True)]
