"""The options of each command, and the options that the constructor of a class declares."""

import inspect
import typing
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

from src.config.keys import MODEL_COMPONENTS

NODE = dict[str, Any]
COMMON = {"task_name": str, "paths": Any, "extras": Any}
LIGHTNING = {  # options of the commands that train or evaluate
    **COMMON,
    "tags": list[str],
    "seed": int | None,
    "data": NODE,
    "metrics": NODE | None,
    "trainer": NODE,
    "callbacks": NODE | None,
    "logger": NODE | None,
}
COMMANDS: dict[str, dict[str, Any]] = {  # the type of each key, by command
    "train": {
        **LIGHTNING,
        "train": bool,
        "test": bool,
        "ckpt_path": str | None,
        "model": Any,
        "loss": NODE,
        "optimizer": NODE,
        "param_groups": Any,
        "sweep": Any,
        "scheduler": NODE,
    },
    "eval": {**LIGHTNING, "ckpt_path": str | list[str], "split": Literal["val", "test"]},
    "predict": {
        **COMMON,
        "ckpt_path": str | list[str],
        "text": str | None,
        "file": str | None,
        "text_column": str | None,
        "delimiter": str | None,
        "out": str | None,
        "top": int,
        "json": bool | None,
        "pictures": str | None,
        "batch_size": int,
    },
    "export": {**COMMON, "ckpt_path": str, "out": str, "int8": bool},
}
WITHIN: dict[str, dict[str, Any]] = {  # nodes whose keys are fixed
    "paths": {"root_dir": str, "output_dir": str},
    "extras": {"print_config": bool, "enforce_tags": bool, "ignore_warnings": bool, "trusted_modules": list[str]},
    "model": dict.fromkeys((*MODEL_COMPONENTS, "sublayer"), NODE),
    "param_groups": dict.fromkeys(MODEL_COMPONENTS, NODE),
    "sweep": {"dry_run": bool, "resume": str | None},
}
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Option(NamedTuple):
    hint: Any  # Any if the annotation is absent or cannot be evaluated
    required: bool
    nullable: bool  # the default is None, whether or not the annotation allows None
    positional: bool


class Signature(NamedTuple):
    options: dict[str, Option]
    open: bool  # the constructor may accept further options


@cache
def of_class(cls: type) -> Signature:
    """Return the options of `cls`, including the options of base classes to which constructors pass their **kwargs.

    Options that are passed through **kwargs are never required, because the constructor of the subclass may set them.
    Positional-only parameters that have a default or would be set through **kwargs are omitted, because key=value
    cannot set them.
    """
    options: dict[str, Option] = {}
    has_kwargs = False
    for base in cls.__mro__[:-1]:
        constructor = vars(base).get("__init__") or vars(base).get("__new__")
        if constructor is None:
            continue
        try:
            parameters = list(inspect.signature(constructor).parameters.values())[1:]  # without self
        except (TypeError, ValueError):  # the constructor is written in C and has no signature
            return Signature(options, open=True)
        names = getattr(inspect.unwrap(constructor), "__globals__", {})
        for parameter in parameters:
            is_optional = has_kwargs or parameter.default is not parameter.empty
            if parameter.kind not in VARIADIC and not (is_optional and parameter.kind is parameter.POSITIONAL_ONLY):
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


def of_record(hints: Mapping[str, Any]) -> Signature:
    """Return the options of a node with fixed keys; no option is required."""
    return Signature({name: Option(hint, False, False, False) for name, hint in hints.items()}, open=False)


def _hint(parameter: inspect.Parameter, names: dict[str, Any]) -> Any:
    """Evaluate the annotation of one parameter alone, so that an error does not affect other annotations."""
    if parameter.annotation is parameter.empty:
        return Any
    holder = SimpleNamespace(__annotations__={"parameter": parameter.annotation})
    try:
        return typing.get_type_hints(holder, names)["parameter"]
    except Exception:  # evaluating an annotation may raise any exception
        return Any
