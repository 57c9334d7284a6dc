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
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple, get_origin, get_type_hints

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import AfterValidator, ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError

from heedful.base.errors import UserError
from heedful.base.formatting import format_names, format_value
from heedful.config.keys import MODEL_COMPONENTS, choice_of, choices, join_path, paths_in, plain_value, referenced_names
from heedful.config.mistakes import LabelColumn, Mistake, TextColumn, format_mistakes, nearest, no_such
from heedful.config.places import DEFAULT_TASK, PLACES, TRUSTED, accepted_classes, find_class, object_class, place_at
from heedful.config.rules import rule_mistakes

# Types of options


def require_relative_path(path: str) -> str:
    """Return `path` if it is relative and stays inside its folder; otherwise raise a ValueError."""
    if any(name.strip() in ("", ".", "..") or not name.isprintable() for name in path.split("/")):
        raise ValueError("must be a relative path without .. or control characters")
    return path


RelativePath = Annotated[str, AfterValidator(require_relative_path)]
Tag = Annotated[str, Field(min_length=1, max_length=64)]  # 64 is the limit of W&B
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Device = Literal["auto", "cpu", "cuda"]
Direction = Literal["min", "max"] | None  # None: that of the monitored metric
Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
NotNegativeFloat = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Decay = Annotated[float, Field(ge=0, lt=1)]
Node = dict[str, Any]
Nodes = dict[str, Node | None] | None

STRICT = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)
OBJECT_ERRORS = ("needs_python_object", "callable_type")  # a plain value where an object is expected


@dataclass(frozen=True)
class Option:
    """A parameter of a constructor; `hint` is Any if the annotation is absent or cannot be evaluated."""

    hint: Any
    required: bool = False
    positional: bool = False

    @cached_property
    def adapter(self) -> "TypeAdapter[Any]":
        try:
            return TypeAdapter(self.hint, config=STRICT)
        except PydanticUserError:  # a class whose objects pydantic would create itself
            return TypeAdapter(Any)


def _options(**hints: Any) -> dict[str, Option]:
    return {name: Option(hint) for name, hint in hints.items()}


# Nodes with fixed options, and the options of each command

RECORDS = {
    "paths": _options(output_dir=str),
    "extras": _options(ignore_warnings=bool, trusted_modules=list[str], keep_texts=bool),
    "sweep": _options(dry_run=bool, resume=str | None),
    "model": _options(**dict.fromkeys((*MODEL_COMPONENTS, "sublayer", "normalizer", "branch"), Node)),
    "param_groups": _options(**dict.fromkeys(MODEL_COMPONENTS, Node | None)),
}
EVERY = _options(task_name=RelativePath, paths=Node, extras=Node)
RUN = (
    EVERY
    | _options(tags=list[Tag], seed=Seed | None, threads=Positive | None, data=Node, metrics=Nodes)
    | _options(trainer=Node, callbacks=Nodes, logger=Nodes)
)
COMMANDS = {
    "train": RUN
    | _options(
        test=bool,
        ckpt_path=str | None,
        init_from=str | None,
        model=Node,
        task=Node,
        loss=Node,
        optimizer=Node,
        scheduler=Node,
    )
    | _options(param_groups=Node | None, calibrate=bool, sweep=Node),
    "eval": RUN
    | _options(ckpt_path=str | list[str], file=str | None, text_column=TextColumn | None)
    | _options(label_column=LabelColumn | None, delimiter=str | None, quotes=bool, split=Literal["val", "test"])
    | _options(device=Device, unknown_classes=Literal["error", "wrong", "drop"]),
    "predict": EVERY
    | _options(
        ckpt_path=str | list[str], text=str | None, second=str | None, file=str | None, text_column=TextColumn | None
    )
    | _options(delimiter=str | None, quotes=bool, out=str | None, top=Positive, json=bool | None)
    | _options(pictures=str | None, batch_size=Positive, device=Device, abstain=Share | None),
    "export": EVERY | _options(ckpt_path=str, out=str),
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
    "pytorch_lightning.ModelCheckpoint": {"filename": RelativePath | None, "mode": Direction},
    "pytorch_lightning.CSVLogger": {"flush_logs_every_n_steps": Positive},
    "pytorch_lightning.EarlyStopping": {"patience": NotNegative, "mode": Direction},
    "torch.Optimizer": {
        "lr": NotNegativeFloat,
        "betas": tuple[Decay, Decay],
        "eps": NotNegativeFloat,
        "momentum": NotNegativeFloat,
        "weight_decay": NotNegativeFloat,
    },
}

# Options of a class


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
            required = parameter.default is parameter.empty and not has_kwargs
            is_positional_only = parameter.kind is parameter.POSITIONAL_ONLY
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or (
                is_positional_only and not required
            ):
                continue
            hint = _hint(parameter, constructor)
            hint = hint if get_origin(hint) is Annotated else foreign.get(parameter.name) or hint
            hint = hint | None if parameter.default is None and hint is not Any else hint
            option = Option(hint, required, positional=parameter.kind is not parameter.KEYWORD_ONLY)
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


# Validation

MESSAGES = {  # type of pydantic's error → its message, if pydantic's message is about JSON
    "list_type": "must be a list in [ ]",
    "tuple_type": "must be a list in [ ]",
    "missing": "must have more items",
}


def validate_config(cfg: DictConfig, command: str = "train", trusted: Set[str] = TRUSTED) -> None:
    """Validate a configuration as `config_mistakes` does; a UserError lists all mistakes."""
    if mistakes := config_mistakes(cfg, command, trusted):
        raise UserError(format_mistakes(mistakes))


def config_mistakes(
    cfg: DictConfig, command: str, trusted: Set[str] = TRUSTED, variables: Set[str] = frozenset()
) -> list[Mistake]:
    """Find all mistakes in a composed configuration without the node `hydra`, and import the classes that it names.

    References are validated as the values they refer to.

    Args:
        command: train, eval, predict or export, which accept different options.
        trusted: modules whose classes are allowed, in addition to `extras.trusted_modules`.
        variables: names at the top that are no options, beside those to which the configuration itself refers.
    """
    written = paths_in(OmegaConf.to_container(cfg, resolve=False))
    variables = (variables | referenced_names(written)) - set(COMMANDS[command])
    absent: list[Mistake] = []
    values, trusted = _resolve(cfg, "", absent), trusted_modules(cfg, trusted)
    found = [
        *_node_mistakes(
            {key: value for key, value in values.items() if key not in variables}, "", command, trusted, ()
        ),
        *rule_mistakes(values, command),
    ]
    if "task" in values:
        found += _task_mistakes(cfg, values)
    optimizer, groups = class_at(cfg, "optimizer"), values.get("param_groups")
    for name, options in groups.items() if isinstance(groups, dict) else ():
        if optimizer and isinstance(options, dict) and name in MODEL_COMPONENTS:
            found += option_mistakes(optimizer, options, f"param_groups.{name}", {"params"}, requires=False)
    mistakes = {mistake.path: mistake for mistake in [*found, *absent]}  # an absent value is not also a wrong one
    targets = {path: str(written.get(path)).removeprefix("${").removesuffix("}") for path in mistakes}
    return [mistakes[path] for path in mistakes if targets[path] == path or targets[path] not in mistakes]


def _task_mistakes(cfg: DictConfig, values: Mapping[str, Any]) -> Iterator[Mistake]:
    """Find options that do not suit the task."""
    task: Any = class_at(cfg, "task") or find_class(DEFAULT_TASK, TRUSTED)
    if not issubclass(task, PLACES["task"].base_class):
        return
    kind = task.targets
    if values.get("calibrate") is True and not task.calibrates:
        yield Mistake("calibrate=true", f"is for texts with one class, and the task for {kind}: remove it")
    if not task.has_classes and isinstance(data := values.get("data"), dict) and data.get("labels") is not None:
        yield Mistake("data.labels", f"lists classes, and the task is for texts with {kind}: write null")
    for key, remedy in (
        ("loss", choice_of("loss", task.default_loss)),
        ("model.branch", "model/branch=none"),
        ("model.attention", "model/attention=bahdanau"),
    ):
        suited = getattr(class_at(cfg, key), "targets", kind)
        if kind not in (known := (suited,) if isinstance(suited, str) else suited):
            tasks: dict[str, Any] = {name: find_class(target, TRUSTED) for name, target in choices("task").items()}
            remedies = [remedy, *(f"task={name}" for name, other in tasks.items() if other.targets in known)]
            message = f"is for texts with {' or '.join(known)}, and the task for {kind}: write {', or '.join(remedies)}"
            yield Mistake(f"{key}._target_", message)


def trusted_modules(cfg: DictConfig, built_in: Set[str] = TRUSTED) -> Set[str]:
    """Return the modules whose classes `cfg` may name: `built_in` and `extras.trusted_modules`."""
    modules = plain_value(cfg, "extras.trusted_modules")
    return built_in | {module for module in (modules if isinstance(modules, list) else []) if isinstance(module, str)}


def class_at(cfg: DictConfig, key: str) -> type | None:
    """Return the class of the object that `build.make` would create; None if the node names no trusted class."""
    try:
        return find_class(plain_value(cfg, f"{key}._target_"), trusted_modules(cfg))
    except ValueError:
        return None


def _resolve(node: Any, path: str, absent: list[Mistake]) -> Any:
    """Return plain values with references resolved; an absent value is None, and is described in `absent`."""
    if isinstance(node, int) and not -(2**63) <= node < 2**63:
        return float(str(node))  # no library accepts it as an integer
    if not isinstance(node, DictConfig | ListConfig):
        return node
    values: dict[Any, Any] = {}
    written: Any = OmegaConf.to_container(node, resolve=False)
    for key, text in written.items() if isinstance(written, dict) else enumerate(written):
        here, values[key] = join_path(path, key), None
        try:
            if text == "???":
                absent.append(Mistake(here, f"is required: write {here}=…"))
            else:
                values[key] = _resolve(node[key], here, absent)
        except OmegaConfBaseException as error:
            remedy = f"; write {str(text).replace('${hydra.', '${hydra:')}" if "${hydra." in str(text) else ""
            absent.append(Mistake(f"{here}={text}", f"cannot be resolved: {str(error).splitlines()[0]}{remedy}"))
    return values if isinstance(written, dict) else list(values.values())


def _node_mistakes(
    node: Any, path: str, command: str, trusted: Collection[str], bases: Collection[type]
) -> Iterator[Mistake]:
    """Check each mapping at every depth: an object's class against its place, and the options of every node."""
    options: Mapping[Any, Option] = {}
    if isinstance(node, dict):
        place, fixed = place_at(path), RECORDS.get(path) if path else COMMANDS[command]
        if "_target_" in node:
            try:
                cls = object_class(node["_target_"], path, trusted, bases)
            except ValueError as error:
                yield Mistake(f"{path}._target_={format_value(node['_target_'])}", str(error))
                return
            options = of_class(cls).options
            positional = [name for name, option in options.items() if option.positional]
            passed = {*positional[: place.positional], *place.passed_to(cls)} if place else set()
            yield from option_mistakes(cls, node, path, passed)
        elif fixed:
            yield from _wrong_options(fixed, node, path)
        elif place and node and (command == "train" or path != "data"):  # evaluation overrides the data of a card
            removal = f"'~{path}'" if path in PLACES else f"{path}=null"
            remedy = f"choose {path.replace('.', '/')}=…, or remove its options: {removal}"
            yield Mistake(f"{path}._target_", f"is required by {format_names(node)}: {remedy}")
    for key, child in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(child, dict | list):
            accepted = (
                bases if isinstance(node, list) else accepted_classes(options[key].hint) if key in options else ()
            )
            yield from _node_mistakes(child, join_path(path, key), command, trusted, accepted)


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
            remedy = f"; '~{here}' removes it" if path and not nearest(name, names) else ""
            yield Mistake(f"{here}={format_value(value)}", no_such("option", name, names) + remedy)


def _wrong_values(option: Option, value: Any, path: str) -> Iterator[Mistake]:
    """Describe each wrong item in the value of an option once, although pydantic reports each branch of a union.

    Any value is accepted where only an object is expected; `_node_mistakes` checks the classes of objects.
    """
    try:
        option.adapter.validate_json(json.dumps(value, default=str))  # strict JSON: a list is valid for a tuple
    except ValidationError as error:
        found: dict[str, tuple[Any, list[Any]]] = {}
        for detail in error.errors(include_url=False):
            here, item = path, value
            for step in detail["loc"]:  # some steps name a branch of a union
                if step in item if isinstance(item, dict) else isinstance(item, list) and step in range(len(item)):
                    here, item = join_path(here, step), item[step]
            found.setdefault(here, (item, []))[1].append(detail)
        for here, (item, details) in found.items():
            errors = [detail for detail in details if detail["type"] not in OBJECT_ERRORS]
            may_be_object = isinstance(item, dict) and len(errors) < len(details)
            if errors and not may_be_object and not any(other.startswith(f"{here}.") for other in found):
                yield Mistake(f"{here}={format_value(item)}", _describe(here, item, errors))


def _describe(here: str, value: Any, errors: list[Any]) -> str:
    in_value = [error for error in errors if not error["type"].endswith(("_type", "literal_error", "_from_float"))]
    errors = in_value or errors  # the type is right, but not the value
    if errors[0]["type"] == "dict_type":
        choice = "none" if value is None else format_value(value)
        return f"must be a mapping; to choose a file, write {here.replace('.', '/')}={choice}"
    texts = (MESSAGES.get(error["type"]) or error["msg"].removeprefix("Value error, ") for error in errors)
    message = " or ".join(dict.fromkeys(texts)).replace("Input should", "must").replace("String should", "must")
    return message.replace(" or must be ", " or ")
