"""Overrides as typed, read into their keys and values."""

import shlex
from typing import Any, NamedTuple

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.errors import HydraException

from src.config.mistakes import Mistake
from src.config.quoting import quote


class Given(NamedTuple):
    """One override of a command line.

    Args:
        line: as typed.
        mark: what stands before the key: nothing, `+`, `++` or `~`.
        key: a group or the dotted path of an option; as typed where it is neither.
        package: where a group is to be placed, as in `group@package`.
        values: each value of a sweep, of a range its first one; otherwise the only one.
        lines: an override of its own for each value; none if it cannot be read.
        is_sweep: whether it may stand for several runs.
    """

    line: str
    mark: str
    key: str
    package: str | None
    values: list[Any]
    lines: list[str]
    is_sweep: bool

    def with_value(self, text: str) -> str:
        package = "" if self.package is None else f"@{self.package}"
        return f"{self.mark}{self.key}{package}={text}"


def parse_overrides(lines: list[str], loader: ConfigLoader) -> tuple[list[Given], list[Mistake]]:
    """Read overrides; of one that cannot be read, a mistake in itself, the key is still returned."""
    parser = OverridesParser.create(loader)
    given, mistakes = [], []
    for line in lines:
        try:
            override = parser.parse_override(line)
            override.config_loader = loader
            given.append(_given(override, parser))
        except (HydraException, ValueError) as error:
            key, _, value = line.partition("=")
            bare = key.lstrip("+~")
            in_quotes = f"{key}={quote(value)}"
            if not _can_be_read(in_quotes, parser):
                given.append(Given(line, key[: len(key) - len(bare)], bare, None, [value], [], False))
            elif "=" not in line:
                mistakes.append(Mistake(line, f"has no value: write {line}=…"))
            else:
                given.append(_given(parser.parse_override(in_quotes), parser)._replace(line=line))
                why = str(error).splitlines()[0].partition(" while evaluating ")[2]
                quoting = f"if it is text, quote it: {shlex.quote(in_quotes)}"
                mistakes.append(Mistake(line, f"cannot be read{f' ({why})' if why else ''}; {quoting}"))
    return given, mistakes


def _can_be_read(line: str, parser: OverridesParser) -> bool:
    try:
        parser.parse_override(line)
    except HydraException:
        return False
    return True


def _given(override: Override, parser: OverridesParser) -> Given:
    line = override.input_line or ""
    lines = [line]
    is_sweep = override.is_sweep_override()
    if is_sweep:
        sweep = override.value()
        if isinstance(sweep, RangeSweep):
            texts = [str(value) for value in list(sweep.range())[:1]]
        elif isinstance(sweep, IntervalSweep):
            texts = [str(sweep.start)]
        else:
            texts = list(override.sweep_string_iterator())
        lines = [f"{override.get_key_element()}={text}" for text in texts]
    values = [parser.parse_override(one).value() for one in lines]
    mark = line[: len(line) - len(line.lstrip("+~"))]
    return Given(line, mark, override.key_or_group, override.package, values, lines, is_sweep)
