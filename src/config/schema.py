"""The schema of a configuration: its options, their types and ranges, and the validation of a whole configuration.

The options of an object are the parameters of its constructor, with the types and ranges that it annotates, such as
`Annotated[float, Field(ge=0, lt=1)]`. The options of each command and the ranges of classes of other packages, which do
not annotate them, are declared here.
"""

import inspect
import json
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from omegaconf import DictConfig, OmegaConf
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import NotRequired, Required, TypedDict, is_typeddict

from src.config.keys import MODEL_COMPONENTS, paths_in
from src.config.mistakes import Mistake, format_mistakes
from src.config.paths import CONTROL, require_folder_name, require_relative_path
from src.config.places import LISTS, MAPS, TRUSTED, Place, accepted_classes, find_class, object_class, place_at
from src.config.plain import MISSING, Unresolved, join_path, plain_value, plain_values
from src.config.rules import rule_mistakes
from src.errors import UserError
from src.formatting import format_names, format_value
from src.misspellings import nearest, no_such

# Types and ranges of options


def _require_tag(tag: str) -> str:
    if not 0 < len(tag) <= 64 or CONTROL.search(tag):  # 64 is the limit of W&B
        raise ValueError("must be one line of 1 to 64 characters")
    return tag


def batch_limit(least: int) -> Any:
    """Return the type of a number of batches, or of a fraction of all batches; with `least` 0, 0.0 is a fraction."""

    def check(value: float) -> float:
        is_valid = value >= least if isinstance(value, int) else 0 <= value <= 1 and (value > 0 or not least)
        if not is_valid:
            fractions = "(0.0, 1.0]" if least else "[0.0, 1.0]"
            raise ValueError(f"must be a whole number of at least {least}, or a fraction in {fractions}")
        return value

    return Annotated[int | float, AfterValidator(check)]


FolderName = Annotated[str, AfterValidator(require_folder_name)]
RelativePath = Annotated[str, AfterValidator(require_relative_path)]
Tag = Annotated[str, AfterValidator(_require_tag)]
Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]  # int64
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
NotNegativeFloat = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Decay = Annotated[float, Field(ge=0, lt=1)]
Node = dict[str, Any]
Nodes = dict[str, Node | None] | None
Object = Annotated[Node, "an object"]  # stands for classes in the annotation of an option


class Paths(TypedDict, total=False):
    root_dir: str
    output_dir: str


class Extras(TypedDict, total=False):
    print_config: bool
    enforce_tags: bool
    ignore_warnings: bool
    trusted_modules: list[str]


class Sweep(TypedDict, total=False):
    dry_run: bool
    resume: str | None


Model = TypedDict("Model", {name: Node for name in (*MODEL_COMPONENTS, "sublayer")}, total=False)  # type: ignore[misc]
ParamGroups = TypedDict("ParamGroups", {name: Node | None for name in MODEL_COMPONENTS}, total=False)  # type: ignore[misc]


class Command(TypedDict, total=False):
    """The options of every command."""

    task_name: FolderName
    paths: Paths
    extras: Extras


class LightningCommand(Command, total=False):
    """The options of the commands that train or evaluate."""

    tags: list[Tag]
    seed: Seed | None
    data: Node
    metrics: Nodes
    trainer: Node
    callbacks: Nodes
    logger: Nodes


class Train(LightningCommand, total=False):
    train: bool
    test: bool
    ckpt_path: str | None
    model: Model
    loss: Node
    optimizer: Node
    param_groups: ParamGroups | None
    sweep: Sweep
    scheduler: Node


class Eval(LightningCommand, total=False):
    ckpt_path: str | list[str]
    split: Literal["val", "test"]


class Predict(Command, total=False):
    ckpt_path: str | list[str]
    text: str | None
    file: str | None
    text_column: str | None
    delimiter: str | None
    out: str | None
    top: Positive
    json: bool | None
    pictures: str | None
    batch_size: Positive


class Export(Command, total=False):
    ckpt_path: str
    out: str
    int8: bool


RECORDS: dict[str, Any] = {  # nodes with fixed keys
    "paths": Paths,
    "extras": Extras,
    "sweep": Sweep,
    "model": Model,
    "param_groups": ParamGroups,
}
COMMANDS: dict[str, Any] = {"train": Train, "eval": Eval, "predict": Predict, "export": Export}

# Options of classes of other packages that declare no range, by package and name of the class that declares the option
# or of one of its base classes
FOREIGN: dict[str, dict[str, Any]] = {
    "pytorch_lightning.Trainer": {
        "accumulate_grad_batches": Positive,
        "check_val_every_n_epoch": Positive | None,
        "gradient_clip_val": NotNegativeFloat | None,
        "limit_predict_batches": batch_limit(0) | None,
        "limit_test_batches": batch_limit(1) | None,
        "limit_train_batches": batch_limit(1) | None,
        "limit_val_batches": batch_limit(0) | None,
        "log_every_n_steps": NotNegative | None,
        "max_epochs": Positive | None,
        "max_steps": Literal[-1] | Positive,
        "min_epochs": NotNegative | None,
        "min_steps": NotNegative | None,
        "num_nodes": Positive,
        "num_sanity_val_steps": Literal[-1] | NotNegative | None,
        "overfit_batches": batch_limit(0),
        "reload_dataloaders_every_n_epochs": NotNegative,
        "val_check_interval": batch_limit(1) | None,
    },
    "pytorch_lightning.ModelCheckpoint": {
        "filename": RelativePath | None,
        "mode": Literal["min", "max"],
        "save_top_k": Annotated[int, Field(ge=-1)],
        "every_n_epochs": NotNegative | None,
        "every_n_train_steps": NotNegative | None,
    },
    "pytorch_lightning.EarlyStopping": {"patience": NotNegative, "mode": Literal["min", "max"]},
    "pytorch_lightning.ProgressBar": {"refresh_rate": NotNegative},
    "pytorch_lightning.CSVLogger": {"flush_logs_every_n_steps": Positive},
    "torch.Optimizer": {
        "lr": NotNegativeFloat,
        "betas": tuple[Decay, Decay],
        "alpha": NotNegativeFloat,
        "dampening": float,
        "eps": NotNegativeFloat,
        "initial_accumulator_value": NotNegativeFloat,
        "lr_decay": NotNegativeFloat,
        "momentum": NotNegativeFloat,
        "rho": Fraction,
        "weight_decay": NotNegativeFloat,
    },
    "torch.ReduceLROnPlateau": {
        "factor": Decay,
        "patience": NotNegative,
        "cooldown": NotNegative,
        "threshold": NotNegativeFloat,
        "min_lr": NotNegativeFloat | list[NotNegativeFloat],
        "eps": NotNegativeFloat,
    },
    "torch.LinearLR": {"start_factor": Annotated[float, Field(gt=0, le=1)], "end_factor": Fraction},
    "torch.OneCycleLR": {"pct_start": Fraction},
    "torch.StepLR": {"step_size": Positive},
}
FINITE_MODULES = ("src.", "torch.", "pytorch_lightning.")  # modules whose classes never accept infinity

RULES = {  # type of a pydantic error about a value of the right type → Heed's message
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be greater than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "finite_number": "must be a finite number",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "value_error": "{error}",
}


# Options of a class


class Option(NamedTuple):
    """A parameter of a constructor; `hint` is Any if the annotation is absent or cannot be evaluated."""

    hint: Any
    required: bool
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
        foreign = {name: hint for owner in base.__mro__ for name, hint in FOREIGN.get(_name(owner), {}).items()}
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


def _name(cls: type) -> str:
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__}"


def _hint(parameter: inspect.Parameter, constructor: Any) -> Any:
    """Evaluate the annotation of one parameter alone, so that an error does not affect other annotations."""
    if parameter.annotation is parameter.empty:
        return Any
    holder = SimpleNamespace(__annotations__={"parameter": parameter.annotation})
    try:
        names = getattr(inspect.unwrap(constructor), "__globals__", {})
        return typing.get_type_hints(holder, names, include_extras=True)["parameter"]
    except Exception:  # evaluating an annotation may raise any exception
        return Any


def plain_hint(hint: Any) -> Any:
    """Return the annotation of the plain values that an option with this annotation accepts in a configuration.

    A list stands for any collection, text for a path, and the names and values of the members for an enum. A mapping
    stands for an object in a union; otherwise, any value is accepted where an object is expected.
    """
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        plain = plain_hint(arguments[0])
        for constraint in hint.__metadata__:
            plain = Annotated[plain, constraint]
        return plain
    if origin in (Union, UnionType):
        members = [plain_hint(argument) for argument in arguments]
        known = [member for member in members if member is not Any]
        if all(member is NoneType for member in known):
            return Any
        return Union[tuple(known + [Object] * (len(known) < len(members)))]  # noqa: UP007  # built at run time
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        return tuple[tuple(map(plain_hint, arguments))]  # type: ignore[misc]
    if origin in LISTS:
        return list[plain_hint(arguments[0])] if arguments else list[Any]  # type: ignore[misc]
    if origin in MAPS or is_typeddict(origin):
        return dict[str, plain_hint(arguments[1])] if len(arguments) == 2 else Node  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Enum):
        names = [*origin.__members__, *(member.value for member in origin if isinstance(member.value, int | str))]
        return Literal[tuple(names)]
    if (isinstance(origin, type) and issubclass(origin, PurePath)) or getattr(origin, "__name__", "") == "PathLike":
        return str
    if origin is int:
        return Integer
    return hint if origin in (bool, float, str, Literal, None, NoneType) else Any


def describe_type(hint: Any) -> str:
    """Describe the result of `plain_hint` in plain words: `int | None` is "a whole number or null"."""
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        return describe_type(arguments[0])
    if origin in (Union, UnionType, Literal):
        members = [hint] if origin is Literal else arguments
        literals = [member for member in members if get_origin(member) is Literal]
        choices = dict.fromkeys(format_value(choice) for literal in literals for choice in get_args(literal))
        words = [describe_type(member) for member in members if member != Object and member not in literals]
        if choices:
            words.insert(0, f"one of {format_names(choices)}" if len(choices) > 1 else format_names(choices))
        return " or ".join(dict.fromkeys(words))
    if origin is tuple:
        return f"a list in [ ] of length {len(arguments)}: {', '.join(map(describe_type, arguments))}"
    if origin is list:
        return "a list in [ ]" if arguments[0] is Any else f"a list in [ ], each item {describe_type(arguments[0])}"
    basic = {bool: "true or false", int: "a whole number", float: "a number", str: "text", dict: "a mapping"}
    return "null" if origin in (None, NoneType) else basic.get(origin, "another type")


# Validation


def validate_config(cfg: DictConfig, command: str = "train", trusted: Set[str] = TRUSTED) -> None:
    """Validate a composed configuration without the node `hydra`, and import the trusted classes that are named in it.

    Args:
        command: train, eval, predict or export, which accept different options.
        trusted: modules whose classes are allowed, in addition to `extras.trusted_modules`.

    Raises:
        UserError: if the configuration is invalid; the message lists all mistakes with their dotted paths.
    """
    if mistakes := config_mistakes(cfg, command, trusted):
        raise UserError(format_mistakes(mistakes))


def config_mistakes(cfg: DictConfig, command: str = "train", trusted: Set[str] = TRUSTED) -> list[Mistake]:
    """Find all mistakes in a composed configuration, whose references are validated as the values they refer to."""
    values, trusted = plain_values(cfg), trusted_modules(cfg, trusted)
    written = dict(_leaves(OmegaConf.to_container(cfg, resolve=False), ""))
    absent = list(_absent(values, written))
    found = [
        *_record_mistakes(COMMANDS[command], values, ""),
        *_object_mistakes(values, "", trusted, ()),
        *_param_group_mistakes(values, trusted),
        *rule_mistakes(values, command, trusted),
    ]
    reported = [mistake.path for mistake in absent]
    found = [mistake for mistake in found if not _is_within_one_of(reported, mistake.path)]
    wrong = {f"${{{mistake.path}}}" for mistake in absent + found}
    return absent + [mistake for mistake in found if written.get(mistake.path) not in wrong]


def trusted_modules(cfg: DictConfig, built_in: Set[str] = TRUSTED) -> Set[str]:
    """Return the modules whose classes `cfg` may name: `built_in` and `extras.trusted_modules`."""
    modules = plain_value(cfg, "extras.trusted_modules")
    return built_in | {module for module in (modules if isinstance(modules, list) else []) if isinstance(module, str)}


def _absent(values: Node, written: Node) -> Iterator[Mistake]:
    """Find required values that are missing, and references that cannot be resolved.

    Args:
        written: the values by path, with references as written; a text of a user may also be `???`.
    """
    for here, value in _leaves(values, ""):
        if written.get(here) == MISSING:
            yield Mistake(here, f"is required: write {here}=…")
        elif isinstance(value, Unresolved):
            yield Mistake(f"{here}={value.written}", f"cannot be resolved: {value.reason}")


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the values in nested mappings and lists by their paths."""
    if not isinstance(value, dict | list):
        yield path, value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(item, join_path(path, key))


def _is_within_one_of(paths: Iterable[str], path: str) -> bool:
    """Return whether one of `paths` is `path` or below it."""
    return any(other == path or other.startswith((f"{path}.", f"{path}[")) for other in paths)


def _record_mistakes(record: Any, values: Node, path: str) -> Iterator[Mistake]:
    """Check a node whose keys are fixed, and such nodes within it."""
    yield from _record_validator(record).mistakes(values, path)
    for name, inner in RECORDS.items():
        if not path and name in record.__annotations__ and isinstance(values.get(name), dict):
            yield from _record_mistakes(inner, values[name], name)


def _object_mistakes(node: Any, path: str, trusted: Collection[str], bases: Collection[type]) -> Iterator[Mistake]:
    """Check each object in a mapping or a list at every depth: its class against its place, and its options."""
    options: dict[str, Option] = {}
    if isinstance(node, dict) and "_target_" in node:
        try:
            cls = object_class(node["_target_"], path, trusted, bases)
        except ValueError as error:
            yield Mistake(f"{path}._target_={format_value(node['_target_'])}", str(error))
            return
        options = of_class(cls).options
        yield from _class_mistakes(cls, node, path, _passed(options, place_at(path)))
    for key, child in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(child, dict | list):
            nested = bases if isinstance(node, list) else accepted_classes(options[key].hint) if key in options else ()
            yield from _object_mistakes(child, join_path(path, key), trusted, nested)


def _passed(options: Mapping[str, Option], place: Place | None) -> Set[str]:
    """Return the names of the options that the program itself sets for an object at a place."""
    positional = [name for name, option in options.items() if option.positional]
    return {*positional[: place.positional], *place.keywords} if place else set()


def _param_group_mistakes(values: Node, trusted: Collection[str]) -> Iterator[Mistake]:
    """Check the optimizer's options of single components."""
    try:
        cls = find_class(values["optimizer"]["_target_"], trusted)
        groups = dict(values["param_groups"])
    except (KeyError, TypeError, ValueError):  # absent, or reported elsewhere
        return
    for name, options in groups.items():
        if isinstance(options, dict) and name in MODEL_COMPONENTS:
            yield from _class_mistakes(cls, options, f"param_groups.{name}", {"params"}, requires=False)


def _class_mistakes(cls: type, node: Node, path: str, passed: Set[str], requires: bool = True) -> Iterator[Mistake]:
    """Check the options of an object; the program itself sets the options in `passed`."""
    for name in node.keys() & passed:
        yield Mistake(f"{path}.{name}={format_value(node[name])}", "is set by the program: remove it")
    options = {key: value for key, value in node.items() if key not in ("_target_", *passed)}
    yield from _class_validator(cls, frozenset(passed), requires).mistakes(options, path)


@cache
def _class_validator(cls: type, passed: frozenset[str], requires: bool) -> "Validator":
    options, is_open = of_class(cls)
    options = {
        name: option._replace(required=option.required and requires)
        for name, option in options.items()
        if name not in passed
    }
    return Validator(options, is_open, is_finite=f"{cls.__module__}.".startswith(FINITE_MODULES))


@cache
def _record_validator(record: Any) -> "Validator":
    hints = get_type_hints(record, include_extras=True)
    return Validator({name: Option(hint, required=False, positional=False) for name, hint in hints.items()})


class Validator:
    """Validates the options of one node.

    Args:
        options: the options by name.
        is_open: whether further options are allowed.
        is_finite: whether numbers must be finite.
    """

    def __init__(self, options: Mapping[str, Option], is_open: bool = False, is_finite: bool = True) -> None:
        self.hints = {name: plain_hint(option.hint) for name, option in options.items()}
        hints = {
            name: (Required if option.required else NotRequired)[self.hints[name]] for name, option in options.items()
        }
        record: Any = TypedDict("record", hints)  # type: ignore[misc]  # its fields are known at run time
        extra: Any = "allow" if is_open else "forbid"
        config = ConfigDict(strict=True, extra=extra, allow_inf_nan=not is_finite)
        self.adapter = TypeAdapter(with_config(config)(record))

    def mistakes(self, values: Node, path: str) -> Iterator[Mistake]:
        """Validate the values of the node at `path`, and describe each wrong option once."""
        try:
            self.adapter.validate_json(json.dumps(values, default=str))  # strict JSON: a list is valid for a tuple
        except ValidationError as error:
            errors: dict[str, list[Any]] = {}
            for detail in error.errors(include_url=False):
                errors.setdefault(str(detail["loc"][0]), []).append(detail)
            for name, details in errors.items():
                yield self._mistake(name, details, values, path)

    def _mistake(self, name: str, errors: list[Any], values: Node, path: str) -> Mistake:
        """Describe the errors that pydantic found in one option, among them one for each branch of a union."""
        here, value = join_path(path, name), values.get(name)
        kind = errors[0]["type"] if len(errors[0]["loc"]) == 1 else ""
        if kind == "missing":
            return Mistake(here, f"is required: write +{here}=…")
        if kind == "extra_forbidden":
            return Mistake(f"{here}={format_value(value)}", self._describe_unknown(name, values, path))
        if rules := [error for error in errors if error["type"] in RULES]:
            here, value = _locate(values, rules[0]["loc"], path)
            messages = dict.fromkeys(_describe_rule(error) for error in rules)
            return Mistake(f"{here}={format_value(value)}", " or ".join(messages))
        if isinstance(value, dict):  # the value of one key may be wrong, such as that of metrics.acc
            here, value = _locate(values, errors[0]["loc"], path)
        got = f"'{format_value(value)}'" if isinstance(value, str) else format_value(value)
        return Mistake(f"{here}={format_value(value)}", f"expects {describe_type(self.hints[name])}, got {got}")

    def _describe_unknown(self, name: str, values: Node, path: str) -> str:
        similar = [join_path(path, choice) for choice in nearest(name, self.hints)]
        if not similar and not path:  # perhaps an option of another node, written without its path
            similar = nearest(name, [other for other in paths_in(values) if "." in other])
        if similar:
            return no_such("option", similar)
        return f"{no_such('option', [])}; the options are {format_names(self.hints) or 'none'}"


def _describe_rule(error: Any) -> str:
    bounds = {name: f"{bound:g}" if isinstance(bound, float) else bound for name, bound in error.get("ctx", {}).items()}
    return RULES[error["type"]].format(**bounds)


def _locate(value: Any, steps: Iterable[Any], path: str) -> tuple[str, Any]:
    """Return the path and the value at which pydantic found an error, without the steps that name a union's branch."""
    for step in steps:
        if step in value if isinstance(value, dict) else isinstance(value, list) and isinstance(step, int):
            path, value = join_path(path, step), value[step]
    return path, value
