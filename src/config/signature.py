"""Read the options of a class from its constructor."""

import inspect
import typing
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Option(NamedTuple):
    hint: Any  # Any if the annotation is absent or cannot be evaluated
    required: bool
    nullable: bool  # the default is None; the annotation may omit it
    positional: bool


class Signature(NamedTuple):
    options: dict[str, Option]
    open: bool  # accepts further names


@cache
def of_class(cls: type) -> Signature:
    """The options of `cls`: those of its constructor and, if that accepts **kwargs, those of the next base class.

    Only parameters of the class's own constructor are required: it may pass those of its base classes itself.
    """
    options: dict[str, Option] = {}
    has_kwargs = False
    for base in cls.__mro__[:-1]:
        constructor = vars(base).get("__init__") or vars(base).get("__new__")
        if constructor is None:
            continue
        try:
            parameters = list(inspect.signature(constructor).parameters.values())[1:]  # without self
        except (TypeError, ValueError):  # written in C, without a signature
            return Signature(options, open=True)
        names = getattr(inspect.unwrap(constructor), "__globals__", {})
        for parameter in parameters:
            if parameter.kind not in VARIADIC:
                option = Option(
                    hint=_hint(parameter, names),
                    required=not has_kwargs and parameter.default is parameter.empty,
                    nullable=parameter.default is None,
                    positional=parameter.kind is not parameter.KEYWORD_ONLY,
                )
                options.setdefault(parameter.name, option)
        has_kwargs = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        if not has_kwargs:
            break
    return Signature(options, open=has_kwargs)


@cache
def of_record(record: type) -> Signature:
    """The options of a TypedDict: its keys, none of them required."""
    hints = typing.get_type_hints(record)
    return Signature({name: Option(hint, False, False, False) for name, hint in hints.items()}, open=False)


def _hint(parameter: inspect.Parameter, names: dict[str, Any]) -> Any:
    """Evaluate one annotation, so that an error in it does not affect the others."""
    if parameter.annotation is parameter.empty:
        return Any
    holder = SimpleNamespace(__annotations__={"parameter": parameter.annotation})
    try:
        return typing.get_type_hints(holder, names)["parameter"]
    except Exception:  # evaluating an annotation may raise any exception
        return Any
