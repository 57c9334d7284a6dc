"""What options a class takes, read from its constructor."""

import inspect
import typing
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

GATHERING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Option(NamedTuple):
    hint: Any  # Any where there is no annotation that can be read
    required: bool
    nullable: bool  # None is the default, whether the annotation says so or not
    positional: bool


class Signature(NamedTuple):
    options: dict[str, Option]
    open: bool  # takes names beyond those listed


@cache
def of_class(cls: type) -> Signature:
    """The options of `cls`: its constructor's, and where that takes **kwargs also those of the next one up.

    Only its own constructor's parameters count as required: it may itself fill in those of its bases.
    """
    options: dict[str, Option] = {}
    gathers = False
    for base in cls.__mro__[:-1]:
        maker = vars(base).get("__init__") or vars(base).get("__new__")
        if maker is None:
            continue
        try:
            parameters = list(inspect.signature(maker).parameters.values())[1:]  # without self
        except (TypeError, ValueError):  # written in C, without a signature
            return Signature(options, open=True)
        names = getattr(inspect.unwrap(maker), "__globals__", {})
        for parameter in parameters:
            if parameter.kind not in GATHERING:
                option = Option(
                    hint=_hint(parameter, names),
                    required=not gathers and parameter.default is parameter.empty,
                    nullable=parameter.default is None,
                    positional=parameter.kind is not parameter.KEYWORD_ONLY,
                )
                options.setdefault(parameter.name, option)
        gathers = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        if not gathers:
            break
    return Signature(options, open=gathers)


@cache
def of_record(record: type) -> Signature:
    """The options of a TypedDict: its keys, none of them required."""
    hints = typing.get_type_hints(record)
    return Signature({name: Option(hint, False, False, False) for name, hint in hints.items()}, open=False)


def _hint(parameter: inspect.Parameter, names: dict[str, Any]) -> Any:
    """The annotation, by itself: one name that only a type checker imports must not hide the others."""
    if parameter.annotation is parameter.empty:
        return Any
    holder = SimpleNamespace(__annotations__={"one": parameter.annotation})
    try:
        return typing.get_type_hints(holder, names)["one"]
    except Exception:  # whatever evaluating another's annotation may raise
        return Any
