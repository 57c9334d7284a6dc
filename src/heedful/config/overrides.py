"""Overrides of the command line in Hydra's grammar: their keys, their values, and text quoted for them."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import Any, NamedTuple

from hydra.core.override_parser import types
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf

MAX_JOBS = 10_000  # of a sweep
RESERVED = re.compile("null|true|false|inf|nan", re.IGNORECASE)  # words that are not text


class Override(NamedTuple):
    """An override of the command line; `texts` holds its value as typed, or each value of a sweep."""

    line: str
    parsed: types.Override
    texts: list[str]

    @property
    def key(self) -> str:
        """A group or the dotted path of an option."""
        return self.parsed.key_or_group

    @property
    def is_sweep(self) -> bool:
        """Whether the value is a,b, a range, an interval, of which `texts` holds the start, or a pattern."""
        return self.parsed.is_sweep_override()

    def with_value(self, text: str) -> str:
        """Return the override with the value `text`, written in Hydra's grammar; `~key` has no value."""
        key = self.parsed.get_key_element()
        return f"{key}={text}" if text or not self.parsed.is_delete() else key

    def value(self) -> Any:
        """Return the value, or the first one of a sweep."""
        return _parse(f"key={self.texts[0]}").value()


@lru_cache(maxsize=1000)
def _parse(line: str) -> types.Override:
    """Parse an override, in a millisecond; the jobs of a sweep and the fits of an estimator repeat them."""
    return OverridesParser.create().parse_override(line)


def parse_override(line: str, groups: Mapping[str, Sequence[str]]) -> Override:
    """Parse an override; raise a ValueError if it is malformed.

    Args:
        groups: the choices of each group, from which a pattern selects.
    """
    typed, _, text = line.partition("=")
    texts = [text]
    try:
        parsed = _parse(line)
        value: Any = parsed.value()
        if isinstance(value, types.IntervalSweep):
            texts = [str(value.start)]
        elif isinstance(value, types.Glob):
            texts = value.filter(list(groups.get(parsed.key_or_group, [])))
        elif parsed.is_sweep_override():
            texts = list(islice(parsed.sweep_string_iterator(), MAX_JOBS + 1))
    except (HydraException, ValueError) as error:
        quoted = f"; if it is text, quote it: {shlex.quote(f'{typed}={quote(text)}')}" if text else ""
        keys = "; keys in {} have no quotes, but a backslash before a comma or colon: {a\\,b: 1}" if "{" in text else ""
        raise ValueError(f"cannot be parsed ({str(error).splitlines()[0]}): write key=value{keys}{quoted}") from error
    if not texts:
        raise ValueError("has no values: a range needs a stop beyond its start, and a pattern must match a choice")
    return Override(line, parsed, texts)


def combinations(overrides: Iterable[Override]) -> Iterator[list[str]]:
    """Yield the overrides of each job of a sweep: every combination of the values."""
    columns = [[override.with_value(text) for text in override.texts] for override in overrides]
    yield from map(list, product(*columns))


def as_typed(recorded: Any) -> list[str]:
    """Return the overrides that Hydra recorded; a reference in one, such as ${seed}, is not resolved."""
    lines: Any = OmegaConf.to_container(recorded, resolve=False)
    return list(lines)


def as_lines(overrides: Iterable[Any]) -> list[Any]:
    """Return the overrides that a program gives one by one, or as a list."""
    return [line for given in overrides for line in (given if isinstance(given, list | tuple) else [given])]


def key_of(line: str) -> str:
    """Return the key of an override as typed, without its prefix and its value: `+model.dim=3` → model.dim."""
    return line.lstrip("+~").partition("=")[0]


def full_name(line: str) -> str:
    """Write the name of an option in full: `hparams_search.trials=3` is short for an option of Hydra."""
    return re.sub(r"^([+~]*)hparams_search\.", r"\1hydra.sweeper.search.", line)


def path_of(line: str) -> str:
    """Return the key of an override as a dotted path: `model/encoder=gru` → model.encoder."""
    return key_of(line).replace("/", ".")


def quote(text: str) -> str:
    """Write `text` as a value in Hydra's grammar, so that all characters are preserved; a path may need no quotes."""
    if text == "???":  # OmegaConf's symbol for a missing value
        return """${oc.decode:"'???'"}"""
    if re.fullmatch(r"[\w.-]*/[\w./-]*", text, re.ASCII):
        return text
    return types.QuotedString(escape_references(text), types.Quote.double).with_quotes()


def format_override(key: str, value: Any) -> str:
    """Write a plain value as an override; a name such as bahdanau needs no quotes."""

    def text(item: Any) -> str:
        if isinstance(item, str):
            is_name = re.fullmatch(r"[A-Za-z_][\w./-]*", item, re.ASCII) and not RESERVED.fullmatch(item)
            return item if is_name else quote(item)
        if isinstance(item, Mapping):
            return "{" + ",".join(f"{name}: {text(value)}" for name, value in item.items()) + "}"
        if isinstance(item, list | tuple):
            return f"[{','.join(map(text, item))}]"
        return "null" if item is None else str(item).lower()  # True is true, 1E-05 is 1e-05

    return f"{key}={text(value)}"


def escape_references(node: Any) -> Any:
    r"""Escape each `${` in a text, or in all texts of a plain configuration, so that OmegaConf resolves none of them.

    A reference in a file from someone else could read environment variables.
    """
    if isinstance(node, dict):
        return {key: escape_references(value) for key, value in node.items()}
    if isinstance(node, list):
        return [escape_references(value) for value in node]
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", node) if isinstance(node, str) else node
