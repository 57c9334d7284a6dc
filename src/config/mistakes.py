"""One mistake in a configuration, how the right name is guessed, and how all mistakes are shown together."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any, NamedTuple

WIDEST = 48  # characters of the left column; a longer entry stands on its own line
SHOWN = 12  # choices that are listed before the rest becomes an ellipsis


class Mistake(NamedTuple):
    """What the user wrote, such as `optimizer.lr=fast`, and what is wrong with it."""

    where: str
    what: str


def nearest(name: str, names: Iterable[str], at_least: float = 0.5) -> list[str]:
    """The names that `name` may have been meant for, at most three; none where nothing is alike.

    A dotted name that ends as `name` does comes before one that is merely spelled alike: `hidden_dim` means
    `model.encoder.hidden_dim`.
    """
    names = list(names)
    tail = [other for other in names if other.endswith(f".{name}")]
    if tail:
        return tail[:3]

    def likeness(other: str) -> float:
        return SequenceMatcher(None, name.lower(), other.lower(), autojunk=False).ratio()

    return [best for best in [max(names, key=likeness, default="")] if best and likeness(best) >= at_least]


def did_you_mean(names: list[str]) -> str:
    return f"; did you mean {' or '.join(names)}?" if names else ""


def listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def no_such_choice(name: object, choices: list[str]) -> str:
    return f"no such choice{did_you_mean(nearest(str(name), choices))} ({listed(sorted(choices))})"


def shown(value: Any) -> str:
    """A value as one would write it on the command line, cut to a readable length."""
    if isinstance(value, bool) or value is None:
        text = {True: "true", False: "false", None: "null"}[value]
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {shown(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(map(shown, value)) + "]"
    else:
        text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def report(mistakes: Iterable[Mistake]) -> str:
    """All mistakes as one message, each once."""
    unique = list(dict.fromkeys(mistakes))
    width = max((len(where) for where, _ in unique if len(where) <= WIDEST), default=0)
    count = "1 mistake" if len(unique) == 1 else f"{len(unique)} mistakes"
    lines = [f"{count} in the configuration; nothing was started."]
    for where, what in unique:
        lines.append(f"  {where:<{width}}   {what}" if len(where) <= width else f"  {where}\n  {'':<{width}}   {what}")
    return "\n".join(lines)
