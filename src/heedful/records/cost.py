"""What variants cost: to train, to use and to keep."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from heedful.records.variants import Variant


class Cost(NamedTuple):
    """The medians over the runs of a variant; None if a run does not know them."""

    training: float | None = None  # seconds
    use: float | None = None  # milliseconds of a text
    parameters: int | None = None


def measure_costs(variants: Sequence[Variant]) -> dict[str, Cost]:
    """Return the costs by variant; seconds are those of the processor if all runs know these."""
    runs = [run.result for variant in variants if not variant.outside for run in variant.runs]
    is_cpu = all(result.seconds.cpu is not None for result in runs)
    costs = {}
    for variant in variants:
        results = [run.result for run in variant.runs]
        seconds = [result.seconds.cpu if is_cpu else result.seconds.total for result in results]
        uses = [result.ms_per_text for result in results]
        costs[variant.name] = Cost(_median(seconds), _median(uses), variant.runs[0].parameters)
    return costs


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if len(known) == len(values) else None
