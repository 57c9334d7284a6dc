"""The schema of a configuration: its options, their types and ranges, and the validation of a whole configuration.

The options of an object are the parameters of its constructor, with the types and ranges that it annotates, such as
`Annotated[float, Field(ge=0, lt=1)]`. The options of each command, and ranges that classes of other packages neither
annotate nor check when they are created, are declared here.
"""

import inspect
import json
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache, cached_property
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from src.config.keys import MODEL_COMPONENTS, join_path, paths_in, plain_value
from src.config.mistakes import Mistake, format_mistakes, nearest, no_such
from src.config.places import LISTS, MAPS, TRUSTED, accepted_classes, find_class, object_class, place_at
from src.config.rules import rule_mistakes
from src.errors import UserError
from src.formatting import format_value

# Options of the commands


def require_relative_path(path: str) -> str:
    """Return `path` if it is relative and stays inside its folder; otherwise raise a ValueError."""
    if any(name.strip() in ("", ".", "..") or not name.isprintable() for name in path.split("/")):
        raise ValueError("must be a relative path without .. or control characters")
    return path


RelativePath = Annotated[str, AfterValidator(require_relative_path)]
Tag = Annotated[str, Field(min_length=1, max_length=64)]  # 64 is the limit of W&B
Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]  # int64
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
NotNegativeFloat = Annotated[float, Field(ge=0)]
Decay = Annotated[float, Field(ge=0, lt=1)]
Node = dict[str, Any]
Nodes = dict[str, Node | None] | None
Object = Annotated[Node, "an object"]  # stands for classes in the annotation of an option

# Nodes with fixed options, and the types of these options
RECORDS: dict[str, Any] = {
    "paths": {"output_dir": str},
    "extras": {"print_config": bool, "ignore_warnings": bool, "trusted_modules": list[str]},
    "sweep": {"dry_run": bool, "resume": str | None},
    "model": dict.fromkeys((*MODEL_COMPONENTS, "sublayer", "branch"), Node),
    "param_groups": dict.fromkeys(MODEL_COMPONENTS, Node | None),
}
EVERY = {"task_name": RelativePath, "paths": Node, "extras": Node}
LIGHTNING = {
    **EVERY,
    "tags": list[Tag],
    "seed": Seed | None,
    "data": Node,
    "metrics": Nodes,
    "trainer": Node,
    "callbacks": Nodes,
    "logger": Nodes,
}
COMMANDS: dict[str, dict[str, Any]] = {
    "train": {
        **LIGHTNING,
        "train": bool,
        "test": bool,
        "ckpt_path": str | None,
        "model": Node,
        "loss": Node,
        "optimizer": Node,
        "param_groups": Node | None,
        "sweep": Node,
        "scheduler": Node,
    },
    "eval": {**LIGHTNING, "ckpt_path": str | list[str], "split": Literal["val", "test"]},
    "predict": {
        **EVERY,
        "ckpt_path": str | list[str],
        "text": str | None,
        "file": str | None,
        "text_column": str | None,
        "delimiter": str | None,
        "quotes": bool,
        "out": str | None,
        "top": Positive,
        "json": bool | None,
        "pictures": str | None,
        "batch_size": Positive,
    },
    "export": {**EVERY, "ckpt_path": str, "out": str, "int8": bool},
}

# Ranges of options of other packages, by package and name of the class that declares the option, or of a base class
FOREIGN: dict[str, dict[str, Any]] = {
    "pytorch_lightning.Trainer": {
        "accumulate_grad_batches": Positive,
        "check_val_every_n_epoch": Positive | None,
        "gradient_clip_val": NotNegativeFloat | None,
        "log_every_n_steps": NotNegative | None,
        "max_epochs": Positive | None,
        "max_steps": Literal[-1] | Positive,
        "min_epochs": NotNegative | None,
        "min_steps": NotNegative | None,
        "num_sanity_val_steps": Literal[-1] | NotNegative | None,
        "val_check_interval": Positive | Annotated[float, Field(gt=0, le=1)] | None,
    },
    "pytorch_lightning.ModelCheckpoint": {"filename": RelativePath | None, "mode": Literal["min", "max"]},
    "pytorch_lightning.CSVLogger": {"flush_logs_every_n_steps": Positive},
    "pytorch_lightning.EarlyStopping": {"patience": NotNegative, "mode": Literal["min", "max"]},
    "torch.Optimizer": {
        "lr": NotNegativeFloat,
        "betas": tuple[Decay, Decay],
        "eps": NotNegativeFloat,
        "momentum": NotNegativeFloat,
        "weight_decay": NotNegativeFloat,
    },
}

MESSAGES = {  # type of pydantic's error → its message, if pydantic's message is about JSON
    "list_type": "must be a list in [ ]",
    "tuple_type": "must be a list in [ ]",
    "missing": "must have more items",
}

# Options of a class


@dataclass(frozen=True)
class Option:
    """A parameter of a constructor; `hint` is Any if the annotation is absent or cannot be evaluated."""

    hint: Any
    required: bool = False
    positional: bool = False

    @cached_property
    def adapter(self) -> "TypeAdapter[Any]":
        """Validates values of the option."""
        return TypeAdapter(plain_hint(self.hint), config=ConfigDict(strict=True, allow_inf_nan=False))


class Signature(NamedTuple):
    options: dict[str, Option]
    open: bool  # the constructor may accept further options


@cache
def of_class(cls: type) -> Signature:
    """Return the options of `cls`, including the options of base classes to which constructors pass their **kwargs.

    Options that are passed through **kwargs are never required: the constructor of the subclass may set them.
    Positional-only parameters that are not required are omitted: key=value cannot set them.
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
        names = [f"{owner.__module__.partition('.')[0]}.{owner.__name__}" for owner in base.__mro__]
        foreign = {option: hint for name in names for option, hint in FOREIGN.get(name, {}).items()}
        for parameter in parameters:
            is_optional = has_kwargs or parameter.default is not parameter.empty
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if not (is_optional and parameter.kind is parameter.POSITIONAL_ONLY):
                own = _hint(parameter, constructor)
                hint = own if get_origin(own) is Annotated else foreign.get(parameter.name) or own
                option = Option(
                    hint | None if parameter.default is None and hint is not Any else hint,
                    required=not is_optional,
                    positional=parameter.kind is not parameter.KEYWORD_ONLY,
                )
                options.setdefault(parameter.name, option)
        has_kwargs = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        if not has_kwargs:
            break
    return Signature(options, open=has_kwargs)


def _hint(parameter: inspect.Parameter, constructor: Any) -> Any:
    """Evaluate the annotation of one parameter alone, so that an error does not affect other annotations."""
    if parameter.annotation is parameter.empty:
        return Any
    holder = SimpleNamespace(__annotations__={"x": parameter.annotation})
    try:
        return get_type_hints(holder, getattr(inspect.unwrap(constructor), "__globals__", {}), include_extras=True)["x"]
    except Exception:  # evaluating an annotation may raise any exception
        return Any


def plain_hint(hint: Any) -> Any:
    """Return the annotation of the plain values that an option with this annotation accepts in a configuration.

    A list stands for any collection, and a mapping for an object in a union; otherwise, any value is accepted where an
    object is expected.
    """
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        parts = (plain_hint(arguments[0]), *hint.__metadata__)
        return Annotated[parts]
    if origin in (Union, UnionType):
        members = [plain_hint(argument) for argument in arguments]
        if all(member in (Any, NoneType) for member in members):
            return Any
        return Union[tuple(Object if member is Any else member for member in members)]  # noqa: UP007  # built at run time
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        return tuple[tuple(map(plain_hint, arguments))]  # type: ignore[misc]
    if origin in LISTS:
        return list[plain_hint(arguments[0])] if arguments else list[Any]  # type: ignore[misc]
    if origin in MAPS:
        return dict[str, plain_hint(arguments[1])] if len(arguments) == 2 else Node  # type: ignore[misc]
    if origin is int:
        return Integer
    return hint if origin in (bool, float, str, Literal, None, NoneType) else Any


# Validation


def validate_config(cfg: DictConfig, command: str = "train", trusted: Set[str] = TRUSTED) -> None:
    """Validate a configuration as `config_mistakes` does; a UserError lists all mistakes."""
    if mistakes := config_mistakes(cfg, command, trusted):
        raise UserError(format_mistakes(mistakes))


def config_mistakes(cfg: DictConfig, command: str = "train", trusted: Set[str] = TRUSTED) -> list[Mistake]:
    """Find all mistakes in a composed configuration without the node `hydra`, and import the classes that it names.

    References are validated as the values they refer to.

    Args:
        command: train, eval, predict or export, which accept different options.
        trusted: modules whose classes are allowed, in addition to `extras.trusted_modules`.
    """
    absent: list[Mistake] = []
    values, trusted = _resolve(cfg, "", absent), trusted_modules(cfg, trusted)
    found = [
        *_node_mistakes(values, "", command, trusted, ()),
        *rule_mistakes(values, command),
    ]
    optimizer, groups = class_at(cfg, "optimizer"), values.get("param_groups")
    for name, options in groups.items() if isinstance(groups, dict) else ():
        if optimizer and isinstance(options, dict) and name in MODEL_COMPONENTS:
            found += option_mistakes(optimizer, options, f"param_groups.{name}", {"params"}, requires=False)
    mistakes = {mistake.path: mistake for mistake in [*found, *absent]}  # an absent value is not also a wrong one
    written = paths_in(OmegaConf.to_container(cfg, resolve=False))
    targets = {path: str(written.get(path)).removeprefix("${").removesuffix("}") for path in mistakes}
    return [mistakes[path] for path in mistakes if targets[path] == path or targets[path] not in mistakes]


def trusted_modules(cfg: DictConfig, built_in: Set[str] = TRUSTED) -> Set[str]:
    """Return the modules whose classes `cfg` may name: `built_in` and `extras.trusted_modules`."""
    modules = plain_value(cfg, "extras.trusted_modules")
    return built_in | {module for module in (modules if isinstance(modules, list) else []) if isinstance(module, str)}


def class_at(cfg: DictConfig, key: str) -> type | None:
    """Return the class of the object that `src.build.make` would create; None if the node names no trusted class."""
    try:
        return find_class(plain_value(cfg, f"{key}._target_"), trusted_modules(cfg))
    except ValueError:
        return None


def _resolve(node: Any, path: str, absent: list[Mistake]) -> Any:
    """Return plain values with references resolved; an absent value is None, and is described in `absent`."""
    if not isinstance(node, DictConfig | ListConfig):
        return node
    values: dict[Any, Any] = {}
    written: Any = OmegaConf.to_container(node, resolve=False)
    for key in written if isinstance(written, dict) else range(len(written)):
        here, values[key] = join_path(path, key), None
        if written[key] == "???":
            absent.append(Mistake(here, f"is required: write {here}=…"))
            continue
        try:
            values[key] = _resolve(node[key], here, absent)
        except OmegaConfBaseException as error:
            absent.append(Mistake(f"{here}={written[key]}", f"cannot be resolved: {str(error).splitlines()[0]}"))
    return values if isinstance(node, DictConfig) else list(values.values())


def _node_mistakes(
    node: Any, path: str, command: str, trusted: Collection[str], bases: Collection[type]
) -> Iterator[Mistake]:
    """Check each mapping at every depth: an object's class against its place, and the options of every node."""
    options: Mapping[Any, Option] = {}
    place, fixed = place_at(path), _fixed_options(path, command)
    if isinstance(node, dict) and "_target_" in node:
        try:
            cls = object_class(node["_target_"], path, trusted, bases)
        except ValueError as error:
            yield Mistake(f"{path}._target_={format_value(node['_target_'])}", str(error))
            return
        options = of_class(cls).options
        positional = [name for name, option in options.items() if option.positional]
        passed = {*positional[: place.positional], *place.keywords} if place else set()
        yield from option_mistakes(cls, node, path, passed)
    elif isinstance(node, dict) and fixed is not None:
        yield from _wrong_options(fixed, node, path)
    elif place and node and isinstance(node, dict) and (command == "train" or path != "data"):  # overrides of a card
        yield Mistake(f"{path}._target_", f"is required: choose {path.replace('.', '/')}=…, or remove it: {path}=null")
    for key, child in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(child, dict | list):
            nested = bases if isinstance(node, list) else accepted_classes(options[key].hint) if key in options else ()
            yield from _node_mistakes(child, join_path(path, key), command, trusted, nested)


@cache
def _fixed_options(path: str, command: str) -> dict[str, Option] | None:
    """Return the options of a node with fixed options; None if `path` is another node."""
    hints = RECORDS.get(path) if path else COMMANDS[command]
    return None if hints is None else {name: Option(hint) for name, hint in hints.items()}


def option_mistakes(cls: type, node: Node, path: str, passed: Set[str], requires: bool = True) -> Iterator[Mistake]:
    """Check the options of an object; the program itself sets the options in `passed`."""
    for name in node.keys() & passed:
        yield Mistake(f"{path}.{name}={format_value(node[name])}", "is set by the program: remove it")
    written = {key: value for key, value in node.items() if key not in ("_target_", *passed)}
    options = {name: option for name, option in of_class(cls).options.items() if name not in passed}
    yield from _wrong_options(options, written, path, is_open=of_class(cls).open)
    for name, option in options.items():
        if requires and option.required and name not in node:
            yield Mistake(join_path(path, name), f"is required: write +{join_path(path, name)}=…")


def _wrong_options(options: Mapping[str, Option], node: Node, path: str, is_open: bool = False) -> Iterator[Mistake]:
    """Find the unknown names and the wrong values in a node; it may have other options if it `is_open`."""
    for name, value in node.items():
        here = join_path(path, name)
        if name in options:
            yield from _wrong_values(options[name], value, here)
        elif not is_open:
            names = [join_path(path, option) for option in options]
            if not path and not nearest(name, names):  # perhaps an option of another node, written without its path
                names = nearest(name, [other for other in paths_in(node) if "." in other]) or names
            yield Mistake(f"{here}={format_value(value)}", no_such("option", name, names))


def _wrong_values(option: Option, value: Any, path: str) -> Iterator[Mistake]:
    """Describe each wrong item in the value of an option once, although pydantic reports each branch of a union."""
    try:
        option.adapter.validate_json(json.dumps(value, default=str))  # strict JSON: a list is valid for a tuple
    except ValidationError as error:
        errors: dict[str, list[Any]] = {}
        found: dict[str, Any] = {}
        for detail in error.errors(include_url=False):
            here, item = path, value
            for step in detail["loc"]:  # some steps name a branch of a union
                if step in item if isinstance(item, dict) else isinstance(item, list) and step in range(len(item)):
                    here, item = join_path(here, step), item[step]
            errors.setdefault(here, []).append(detail)
            found[here] = item
        for here, details in errors.items():
            if not any(other.startswith(f"{here}.") for other in errors):  # an item of the value is wrong
                yield Mistake(f"{here}={format_value(found[here])}", _describe(here, found[here], details))


def _describe(here: str, value: Any, errors: list[Any]) -> str:
    """Describe the errors that pydantic found in one value."""
    in_value = [error for error in errors if not error["type"].endswith(("_type", "literal_error", "_from_float"))]
    errors = in_value or errors  # the type is right, but not the value
    if errors[0]["type"] == "dict_type":
        return f"must be a mapping; to choose a file, write {here.replace('.', '/')}={format_value(value)}"
    texts = (MESSAGES.get(error["type"]) or error["msg"].removeprefix("Value error, ") for error in errors)
    message = " or ".join(dict.fromkeys(texts)).replace("Input should", "must").replace("String should", "must")
    return message.replace(" or must be ", " or ")
