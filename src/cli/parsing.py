"""Parse overrides into keys and values."""

import shlex
from typing import Any, NamedTuple

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.errors import HydraException

from src.config.mistakes import Mistake
from src.config.quoting import quote


class ParsedOverride(NamedTuple):
    """An override of the command line.

    Args:
        line: the override as typed.
        prefix: `+`, `++`, `~` or empty.
        key: a group or the dotted path of an option; an invalid key is kept as typed.
        package: the package of a group, as in `group@package`; None if absent.
        values: the only value, or all values of a sweep; for a range or an interval, only its first value.
        lines: one override for each value; empty if the key is invalid or a pattern matches no choice.
        is_sweep: whether the override has several values: `a,b`, a range, an interval or a pattern.
        is_interval: whether the override is an interval, from which only a search can sample.
    """

    line: str
    prefix: str
    key: str
    package: str | None
    values: list[Any]
    lines: list[str]
    is_sweep: bool
    is_interval: bool = False

    def with_value(self, text: str) -> str:
        """Return the override with the value `text`."""
        package = "" if self.package is None else f"@{self.package}"
        return f"{self.prefix}{self.key}{package}={text}"


def parse_overrides(lines: list[str], loader: ConfigLoader) -> tuple[list[ParsedOverride], list[Mistake]]:
    """Parse overrides; return them, and a mistake for each value that is missing, is an empty range or is malformed.

    An override without a value, or with an empty range, is not returned. `check_key` reports invalid keys.
    """
    parser = OverridesParser.create(loader)
    overrides, mistakes = [], []
    for line in lines:
        try:
            override = parser.parse_override(line)
            override.config_loader = loader
            parsed = _parse(override, parser)
            if not parsed.lines and isinstance(override.value(), RangeSweep):
                rule = "write range(start, stop, step) with a stop beyond start"
                mistakes.append(Mistake(line, f"is an empty range: {rule}"))
            else:
                overrides.append(parsed)
        except (HydraException, ValueError) as error:
            key, equals, value = line.partition("=")
            quoted = f"{key}={quote(value)}"
            try:
                as_text = parser.parse_override(quoted)
            except HydraException:
                name = key.lstrip("+~")
                overrides.append(ParsedOverride(line, key[: len(key) - len(name)], name, None, [value], [], False))
                continue
            if not equals:
                mistakes.append(Mistake(line, f"has no value: write {line}=…"))
            else:
                overrides.append(_parse(as_text, parser)._replace(line=line))
                reason = str(error).splitlines()[0].partition(" while evaluating ")[2]
                remedy = f"if it is text, quote it: {shlex.quote(quoted)}"
                mistakes.append(Mistake(line, f"cannot be parsed{f' ({reason})' if reason else ''}; {remedy}"))
    return overrides, mistakes


def _parse(override: Override, parser: OverridesParser) -> ParsedOverride:
    line = override.input_line or ""
    lines = [line]
    is_sweep = override.is_sweep_override()
    is_interval = False
    if is_sweep:
        sweep = override.value()
        is_interval = isinstance(sweep, IntervalSweep)
        if isinstance(sweep, RangeSweep):
            texts = [str(value) for value in list(sweep.range())[:1]]
        elif isinstance(sweep, IntervalSweep):
            texts = [str(sweep.start)]
        else:
            texts = list(override.sweep_string_iterator())
        lines = [f"{override.get_key_element()}={text}" for text in texts]
    values = [parser.parse_override(single).value() for single in lines]
    prefix = line[: len(line) - len(line.lstrip("+~"))]
    return ParsedOverride(line, prefix, override.key_or_group, override.package, values, lines, is_sweep, is_interval)
