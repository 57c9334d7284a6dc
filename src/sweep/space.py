"""The search space: the ranges and choices on a command line as Optuna's distributions."""

from collections.abc import Sequence
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep

from src.errors import UserError


def parse_space(overrides: Sequence[str], loader: ConfigLoader) -> tuple[list[str], dict[str, Any]]:
    """Return the overrides that all jobs share, and the Optuna distribution of each option that varies.

    If an option is set several times, the last override counts.

    Raises:
        UserError: if no override contains choices or a range, or if a range is empty, decreases, or has a log scale but
            does not start above 0.
    """
    last = {line.partition("=")[0]: line for line in overrides}
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(list(last.values()))
    space = {override.get_key_element(): _distribution(override) for override in parsed if override.is_sweep_override()}
    if not space:
        raise UserError(
            "there is nothing to search: add choices, such as model/attention=none,bahdanau, or a range, such as "
            "'optimizer.lr=tag(log, interval(1e-4, 1e-1))'"
        )
    return [str(override.input_line) for override in parsed if not override.is_sweep_override()], space


def boundary_overrides(key: str, distribution: Any) -> list[str]:
    """Return the overrides that set an option to both ends of its range, or to each of its choices."""
    values = getattr(distribution, "choices", None) or [getattr(distribution, end) for end in ("low", "high")]
    return [f"{key}={value}" for value in values]


def _distribution(override: Override) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    sweep = override.value()
    if isinstance(sweep, IntervalSweep):
        low, high, step = sweep.start, sweep.end, None
    elif isinstance(sweep, RangeSweep):
        numbers = list(sweep.range())
        if not numbers:
            raise UserError(f"{override.input_line} is an empty range: set a larger end")
        low, high, step = numbers[0], numbers[-1], sweep.step
    else:
        return CategoricalDistribution(tuple(override.sweep_string_iterator()))
    assert low is not None and high is not None
    log = "log" in sweep.tags
    if low > high or (log and low <= 0):
        raise UserError(f"{override.input_line} must increase, and must be above 0 if it is tagged log")
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=log, step=int(step or 1))
    return FloatDistribution(low, high, log=log, step=step)
