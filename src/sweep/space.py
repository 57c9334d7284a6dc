"""The search space: the ranges and choices on a command line."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep

from src.errors import UserError


class Dimension(NamedTuple):
    """The values that a search may choose for one option.

    Args:
        key: the option's key on the command line.
        low: the smallest number; None if there are choices.
        high: the largest number; None if there are choices.
        step: difference between two neighbouring numbers; None for a continuous range.
        log: sample on a logarithmic scale.
        choices: values as on the command line.
    """

    key: str
    low: float | None = None
    high: float | None = None
    step: float | None = None
    log: bool = False
    choices: tuple[str, ...] = ()

    def distribution(self) -> Any:
        """Return the distribution as Optuna represents it."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.low is None or self.high is None:
            return CategoricalDistribution(self.choices)
        if isinstance(self.low, int) and isinstance(self.high, int):
            return IntDistribution(self.low, self.high, log=self.log, step=int(self.step or 1))
        return FloatDistribution(self.low, self.high, log=self.log, step=self.step)

    def boundary_overrides(self) -> list[str]:
        """Return the overrides of the smallest and the largest number, or of all choices."""
        values = self.choices or tuple(str(value) for value in (self.low, self.high))
        return [f"{self.key}={value}" for value in values]


def parse_space(
    params: Mapping[str, str], arguments: Sequence[str], loader: ConfigLoader
) -> tuple[list[str], list[Dimension]]:
    """Split the overrides into those that all jobs share and the dimensions of the search.

    Raises:
        UserError: if there is no dimension, or a range is empty.
    """
    parser = OverridesParser.create(config_loader=loader)
    lines = {line.partition("=")[0]: line for line in [f"{key}={value}" for key, value in params.items()]}
    lines |= {line.partition("=")[0]: line for line in arguments}
    shared, dimensions = [], []
    for override in parser.parse_overrides(list(lines.values())):
        if override.is_sweep_override():
            dimensions.append(_parse_dimension(override))
        else:
            shared.append(str(override.input_line))
    if not dimensions:
        raise UserError(
            "there is nothing to search: give choices, such as model/attention=none,bahdanau, or a range, such as "
            "'optimizer.lr=tag(log, interval(1e-4, 1e-1))'"
        )
    return shared, dimensions


def _parse_dimension(override: Override) -> Dimension:
    sweep, key = override.value(), override.get_key_element()
    if isinstance(sweep, IntervalSweep):
        low, high = sweep.start, sweep.end
        assert low is not None and high is not None
        dimension = Dimension(key, low, high, log="log" in sweep.tags)
    elif isinstance(sweep, RangeSweep):
        numbers = list(sweep.range())
        if not numbers:
            raise UserError(f"{override.input_line} is an empty range: give a larger end")
        dimension = Dimension(key, numbers[0], numbers[-1], sweep.step, "log" in sweep.tags)
    else:
        return Dimension(key, choices=tuple(override.sweep_string_iterator()))
    assert dimension.low is not None and dimension.high is not None
    if dimension.low > dimension.high or (dimension.log and dimension.low <= 0):
        raise UserError(f"{override.input_line} must increase, and must be above 0 if it is tagged log")
    return dimension
