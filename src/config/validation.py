"""Validate a composed configuration: options, types, missing values, interpolations and targets."""

import re
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from src.config import targets
from src.config.keys import paths_in, present_name
from src.config.metrics import metric_mistakes, monitor_mistakes
from src.config.mistakes import Mistake, format_mistakes
from src.config.options import COMMANDS, WITHIN, Option, Signature, of_class, of_record
from src.config.paths import output_mistakes
from src.config.places import Place, accepted_classes, place_at
from src.config.ranges import range_mistakes
from src.config.required import missing_classes, missing_weights
from src.config.values import describe_type, describe_value, matches_type
from src.errors import UserError
from src.formatting import format_names, format_value
from src.suggestions import did_you_mean, nearest

HYDRA_KEYS = (
    "_target_",
    "_partial_",
    "_args_",
    "_recursive_",
    "_convert_",
)  # keys of a `_target_` node that are not options


class Unresolved(NamedTuple):
    """An interpolation that cannot be resolved."""

    written: str
    reason: str


_validated: weakref.ref[DictConfig] | None = None  # the configuration of this process' run


def mark_validated(cfg: DictConfig) -> None:
    """Record that a configuration was validated with the command line, including the dry build of a training."""
    global _validated
    _validated = weakref.ref(cfg)


def is_validated(cfg: DictConfig) -> bool:
    """Whether `mark_validated` was called with this object; it must not have been changed since."""
    return _validated is not None and _validated() is cfg


def validate_config(cfg: DictConfig, command: str = "train", trusted: Set[str] = targets.TRUSTED) -> None:
    """Validate a composed configuration without `hydra`.

    Imports the trusted classes that it names.

    Args:
        cfg: the configuration.
        command: train, eval, predict or export; each accepts other options.
        trusted: modules whose classes are allowed, in addition to `extras.trusted_modules`.

    Raises:
        UserError: if it is invalid; the message lists all mistakes by their dotted paths.
    """
    mistakes = list(config_mistakes(cfg, command, trusted))
    if mistakes:
        raise UserError(format_mistakes(mistakes))


def config_mistakes(cfg: DictConfig, command: str, trusted: Set[str] = targets.TRUSTED) -> Iterator[Mistake]:
    """Find all mistakes of a composed configuration."""
    yield from _records(cfg, command)
    yield from _nodes(cfg, "", trusted_modules(cfg, trusted), ())
    yield from output_mistakes(cfg)
    yield from missing_classes(cfg, command)
    yield from missing_weights(cfg, command)
    yield from range_mistakes(cfg)
    yield from metric_mistakes(cfg)
    yield from monitor_mistakes(cfg, trusted_modules(cfg, trusted))


def sweep_value_mistakes(cfg: DictConfig, command: str, path: str, values: list[Any]) -> Iterator[Mistake]:
    """Find values of a wrong type among the values that a sweep gives to one option."""
    option = option_at(cfg, command, path)
    for value in values:
        if option is not None and "${" not in str(value):
            yield from _type_mistake(path, value, option)


def option_at(cfg: DictConfig, command: str, path: str) -> Option | None:
    """The option at this path, as its class or record declares it; the configuration may lack it."""
    parent, _, name = path.rpartition(".")
    record = WITHIN.get(parent) if parent else COMMANDS[command]
    if record is not None:
        return of_record(record).options.get(name)
    node = OmegaConf.select(cfg, parent)
    if not isinstance(node, DictConfig) or "_target_" not in node:
        return None
    try:
        cls = targets.find_class(_value(node, "_target_"), trusted_modules(cfg))
        return of_class(cls).options.get(name)
    except ValueError:  # reported by the check of the target
        return None


def require_allowed_objects(cfg: DictConfig, path: str) -> None:
    """Raise a UserError if the object at `path`, or an object within it, is not allowed at its place.

    Raises:
        UserError: with the mistakes in every `_target_`.
    """
    node = OmegaConf.select(cfg, path)
    if isinstance(node, DictConfig):
        mistakes = [mistake for mistake in _nodes(node, path, trusted_modules(cfg), ()) if "_target_" in mistake.entry]
        if mistakes:
            raise UserError(format_mistakes(mistakes))


def trusted_modules(cfg: DictConfig, built_in: Set[str] = targets.TRUSTED) -> Set[str]:
    """The modules whose classes `cfg` may name: the built-in ones and `extras.trusted_modules`."""
    extras = _value(cfg, "extras") if "extras" in cfg else None
    modules = extras.get("trusted_modules") if isinstance(extras, dict) else None
    return built_in | {str(module) for module in (modules if isinstance(modules, list) else [])}


def _records(cfg: DictConfig, command: str) -> Iterator[Mistake]:
    """Check the keys of the command, and those of its nodes with fixed keys."""
    record = COMMANDS[command]
    yield from _options(cfg, of_record(record), "", frozenset())
    for name in WITHIN:
        if name in record and name in cfg and isinstance(_value(cfg, name), dict):
            yield from _options(cfg[name], of_record(WITHIN[name]), name, frozenset())


def _nodes(
    node: DictConfig | ListConfig, path: str, trusted: Collection[str], bases: Collection[type] | None
) -> Iterator[Mistake]:
    """Check the values of a node and of its descendants, and each object against its place and its constructor.

    Args:
        node: a mapping or a list.
        path: its dotted path.
        trusted: modules whose classes are allowed.
        bases: classes that the option with this node accepts; None if they are unknown, because the class of the
            object that has this option is missing or wrong, which is a mistake of its own.
    """
    options: Mapping[str, Option] | None = {}
    place = place_at(path)
    if isinstance(node, DictConfig) and "_target_" in set(node):  # `in node` is false for a missing value
        options = None
    if isinstance(node, DictConfig) and "_target_" in node and (place is not None or bases is not None):
        try:
            cls = targets.find_subclass(
                _value(node, "_target_"),
                trusted if place is None else place.allowed(trusted),
                bases or () if place is None else [place.base_class],
            )
        except ValueError as error:
            yield Mistake(f"{_join(path, '_target_')}={format_value(_value(node, '_target_'))}", str(error))
        else:
            options = of_class(cls).options
            yield from _object(node, of_class(cls), path, place)
    keys: Iterable[Any] = node if isinstance(node, DictConfig) else range(len(node))
    for key in keys:
        here = _join(path, key)
        if OmegaConf.is_missing(node, key):
            yield Mistake(here, f"is required: write {here}=…")
            continue
        if isinstance(value := _value(node, key), Unresolved):
            yield Mistake(f"{here}={value.written}", f"cannot be resolved: {value.reason}")
        elif isinstance(value, (dict, list)):
            child = OmegaConf.create(value) if OmegaConf.is_interpolation(node, key) else node[key]
            yield from _nodes(child, here, trusted, bases if isinstance(node, ListConfig) else _bases(options, key))


def _bases(options: Mapping[str, Option] | None, key: Any) -> Collection[type] | None:
    """The classes that an object's option accepts; None if the object's own class is unknown."""
    if options is None:
        return None
    return accepted_classes(options[key].hint) if key in options else ()


def _object(node: DictConfig, accepted: Signature, path: str, place: Place | None) -> Iterator[Mistake]:
    """Check the options of an object against its constructor."""
    positional = [name for name, option in accepted.options.items() if option.positional]
    passed = {*positional[: place.first], *place.names} if place else set()
    for key in ("_args_", "_recursive_") if place else ("_args_", "_recursive_", "_partial_"):
        if key in node:
            yield Mistake(
                f"{_join(path, key)}={format_value(_value(node, key))}", "is not supported: write key=value options"
            )
    yield from _options(node, accepted, path, passed)
    for name, option in accepted.options.items():
        is_named = name in set(node)  # `in node` is False for a value that is missing
        if option.required and not is_named and name not in passed:
            yield Mistake(_join(path, name), f"is required: write +{_join(path, name)}=…")


def _options(node: DictConfig, accepted: Signature, path: str, passed: Collection[str]) -> Iterator[Mistake]:
    """Check the options of a node; `passed` are the names that the program passes itself."""
    choices = [name for name in accepted.options if name not in passed]
    written: dict[str, Any] = OmegaConf.to_container(node, resolve=False)  # type: ignore[assignment]
    for key in map(str, node):
        if key in HYDRA_KEYS or OmegaConf.is_missing(node, key) or _is_reference(written[key]):
            continue
        value, here = _value(node, key), _join(path, key)
        if isinstance(value, Unresolved):
            continue
        if key in passed:
            yield Mistake(f"{here}={format_value(value)}", "is set by the program: remove it")
        elif option := accepted.options.get(key):
            yield from _type_mistake(here, value, option)
        elif present := present_name(here):
            yield Mistake(f"{here}={format_value(value)}", f"is now called {present}")
        elif not accepted.open:
            suggestion = did_you_mean(
                [_join(path, name) for name in nearest(key, choices)] or ([] if path else _similar_paths(node, key))
            )
            all_options = f"; the options are {format_names(choices) or 'none'}"
            yield Mistake(f"{here}={format_value(value)}", f"no such option{suggestion or all_options}")


def _similar_paths(node: DictConfig, key: str) -> list[str]:
    """Similar options anywhere in the configuration, for a name without similar options in its node."""
    root: Any = node._get_root()
    return nearest(key, [path for path in paths_in(OmegaConf.to_container(root, resolve=False)) if "." in path])


def _type_mistake(here: str, value: Any, option: Option) -> Iterator[Mistake]:
    if not matches_type(value, option.hint) and not (value is None and option.nullable):
        yield Mistake(f"{here}={format_value(value)}", f"expects {describe_type(option.hint)}, {describe_value(value)}")


def _value(node: DictConfig | ListConfig, key: Any) -> Any:
    """The plain value, with its interpolations resolved."""
    try:
        value = node[key]
    except OmegaConfBaseException as error:
        written = OmegaConf.to_container(node, resolve=False)[key]  # type: ignore[index]
        return Unresolved(str(written), str(error).splitlines()[0])
    if not isinstance(value, (DictConfig, ListConfig)):
        return value
    try:
        return OmegaConf.to_container(value, resolve=True)
    except OmegaConfBaseException:  # an interpolation in it fails, and is reported for its own path
        return OmegaConf.to_container(value, resolve=False)


def _is_reference(written: object) -> bool:
    """Whether a value refers to another key, which is checked at its own path."""
    return isinstance(written, str) and re.fullmatch(r"\$\{[\w.]+\}", written) is not None


def _join(path: str, key: object) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)
