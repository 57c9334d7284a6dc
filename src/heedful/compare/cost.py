"""What variants cost: to train, to use and to keep."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from heedful.records.variants import Variant
from heedful.report.numbers import UNKNOWN, format_compact, format_known

COST_HEAD = ("training, s", "ms a text", "parameters")


class Cost(NamedTuple):
    """The medians over the runs of a variant; None if a run does not know them."""

    training: float | None = None  # seconds
    use: float | None = None  # milliseconds of a text
    parameters: int | None = None

    def cells(self) -> list[str]:
        """Return the cells below COST_HEAD."""
        times = (UNKNOWN if value is None else format_compact(value) for value in (self.training, self.use))
        return [*times, format_known(self.parameters, "{:,}")]

    def describe(self, name: str, other: "Cost") -> str:
        """Return a clause with the costs beside those of the variant `name`: "it needs 2 ms a text (none: 1)"."""
        pairs = [(self.use, other.use, "ms a text"), (self.training, other.training, "s of training")]
        known = [(value, before, unit) for value, before, unit in pairs if value is not None]
        parts = " and ".join(f"{format_compact(value)} {unit}" for value, _, unit in known)
        others = " and ".join(format_compact(before) for _, before, _ in known if before is not None)
        return (f"it needs {parts}" if parts else "") + (f" ({name}: {others})" if others else "")


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
