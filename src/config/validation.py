"""Validate a composed configuration: options, types, missing values, interpolations and targets."""

import re
import weakref
from collections.abc import Collection, Iterator, Set
from typing import Any

from omegaconf import DictConfig, OmegaConf

from src.config import targets
from src.config.keys import paths_in, present_name
from src.config.metrics import metric_mistakes, monitor_mistakes
from src.config.mistakes import Mistake, format_mistakes
from src.config.options import COMMANDS, WITHIN, Option, Signature, of_class, of_record
from src.config.paths import output_mistakes
from src.config.places import accepted_classes, place_at
from src.config.plain import MISSING, Unresolved, items, join_path, plain_value, plain_values, written_values
from src.config.ranges import range_mistakes
from src.config.required import missing_classes, missing_weights
from src.config.values import describe_type, describe_value, matches_type
from src.errors import UserError
from src.formatting import format_names, format_value
from src.suggestions import did_you_mean, nearest

# Keys of a node with `_target_` that are not options
HYDRA_KEYS = ("_target_", "_partial_", "_args_", "_recursive_", "_convert_")


_validated: weakref.ref[DictConfig] | None = None  # the configuration of this process' run


def mark_validated(cfg: DictConfig) -> None:
    """Record that a configuration was validated with the command line, including the dry build of a training run."""
    global _validated
    _validated = weakref.ref(cfg)


def is_validated(cfg: DictConfig) -> bool:
    """Return whether `mark_validated` was called with this object, which must not be changed after that call."""
    return _validated is not None and _validated() is cfg


def validate_config(cfg: DictConfig, command: str = "train", trusted: Set[str] = targets.TRUSTED) -> None:
    """Validate a composed configuration without the node `hydra`; import the trusted classes that it names.

    Args:
        cfg: the configuration.
        command: train, eval, predict or export, which accept different options.
        trusted: modules whose classes are allowed, in addition to `extras.trusted_modules`.

    Raises:
        UserError: if it is invalid; the message lists all mistakes by their dotted paths.
    """
    mistakes = list(config_mistakes(cfg, command, trusted))
    if mistakes:
        raise UserError(format_mistakes(mistakes))


def config_mistakes(cfg: DictConfig, command: str, trusted: Set[str] = targets.TRUSTED) -> Iterator[Mistake]:
    """Find all mistakes in a composed configuration."""
    values, written = plain_values(cfg), written_values(cfg)
    trusted = trusted_modules(cfg, trusted)
    yield from _records(values, written, command)
    yield from _nodes(values, written, "", trusted, ())
    yield from output_mistakes(values)
    yield from missing_classes(values, command)
    yield from missing_weights(values, command)
    yield from range_mistakes(values, written)
    yield from metric_mistakes(values)
    yield from monitor_mistakes(values, trusted)


def sweep_value_mistakes(cfg: DictConfig, command: str, path: str, values: list[Any]) -> Iterator[Mistake]:
    """Find values of a wrong type among the values that a sweep gives to one option."""
    option = option_at(cfg, command, path)
    for value in values:
        if option is not None and "${" not in str(value):
            yield from _type_mistake(path, value, option)


def option_at(cfg: DictConfig, command: str, path: str) -> Option | None:
    """Return the option that a class or record declares at `path`, even if `cfg` does not set it; otherwise None."""
    parent, _, name = path.rpartition(".")
    record = WITHIN.get(parent) if parent else COMMANDS[command]
    if record is not None:
        return of_record(record).options.get(name)
    try:
        cls = targets.find_class(plain_value(cfg, f"{parent}._target_"), trusted_modules(cfg))
    except ValueError:  # there is no class, or the check of `_target_` reports its mistake
        return None
    return of_class(cls).options.get(name)


def require_allowed_objects(cfg: DictConfig, path: str) -> None:
    """Check that the object at `path`, and every object within it, is allowed at its place.

    Raises:
        UserError: if an object is not allowed; the message lists the mistakes in every `_target_`.
    """
    node = OmegaConf.select(cfg, path)
    if isinstance(node, DictConfig):
        mistakes = _nodes(plain_values(node), written_values(node), path, trusted_modules(cfg), ())
        if wrong := [mistake for mistake in mistakes if "_target_" in mistake.entry]:
            raise UserError(format_mistakes(wrong))


def trusted_modules(cfg: DictConfig, built_in: Set[str] = targets.TRUSTED) -> Set[str]:
    """Return the modules whose classes `cfg` may name: `built_in` and `extras.trusted_modules`."""
    modules = plain_value(cfg, "extras.trusted_modules")
    return built_in | {module for module in (modules if isinstance(modules, list) else []) if isinstance(module, str)}


def _records(values: dict[str, Any], written: dict[str, Any], command: str) -> Iterator[Mistake]:
    """Check the keys of the command and of its nodes with fixed keys."""
    record = COMMANDS[command]
    yield from _options(values, written, of_record(record), "")
    for name in WITHIN:
        if name in record and isinstance(values.get(name), dict):
            yield from _options(values[name], written[name], of_record(WITHIN[name]), name)


def _nodes(
    values: Any, written: Any, path: str, trusted: Collection[str], bases: Collection[type] | None
) -> Iterator[Mistake]:
    """Check the values in a mapping or a list at every depth, and each object against its place and constructor.

    Args:
        values: plain values.
        written: the same values, with interpolations as written.
        path: the dotted path of the mapping or list.
        trusted: modules whose classes are allowed.
        bases: classes that are accepted here; None if they are unknown because the class of the enclosing object is
            missing or wrong, which is reported as a separate mistake.
    """
    accepted: Signature | None = Signature({}, open=False)
    if isinstance(values, dict) and "_target_" in values:
        accepted, mistakes = _check_object(values, written, path, trusted, bases)
        yield from mistakes
    for key, value, source in items(values, written):
        here = join_path(path, key)
        if source == MISSING:
            yield Mistake(here, f"is required: write {here}=…")
        elif isinstance(value, Unresolved):
            yield Mistake(f"{here}={value.written}", f"cannot be resolved: {value.reason}")
        elif isinstance(value, list | dict):
            yield from _nodes(
                value, source, here, trusted, bases if isinstance(values, list) else _bases(accepted, key)
            )


def _bases(accepted: Signature | None, name: str) -> Collection[type] | None:
    """Return the classes that the option `name` of an object accepts; None if the object's own class is unknown."""
    if accepted is None:
        return None
    return accepted_classes(accepted.options[name].hint) if name in accepted.options else ()


def _check_object(
    values: dict[str, Any], written: Any, path: str, trusted: Collection[str], bases: Collection[type] | None
) -> tuple[Signature | None, list[Mistake]]:
    """Check an object's class and options; return the options of the class (None if it is invalid) and the mistakes."""
    target, place = values["_target_"], place_at(path)
    is_missing = (written if isinstance(written, dict) else values)["_target_"] == MISSING
    if is_missing or isinstance(target, Unresolved) or (place is None and bases is None):
        return None, []  # `_nodes` reports the first two cases for every value
    if place is not None:
        trusted, bases = place.allowed(trusted), [place.base_class]
    try:
        accepted = of_class(targets.find_subclass(target, trusted, bases or ()))
    except ValueError as error:
        return None, [Mistake(f"{path}._target_={format_value(target)}", str(error))]
    positional = [name for name, option in accepted.options.items() if option.positional]
    passed = {*positional[: place.first], *place.names} if place else set()
    mistakes = [
        Mistake(f"{path}.{key}={format_value(values[key])}", "is not supported: write key=value options")
        for key in (("_args_", "_recursive_") if place else ("_args_", "_recursive_", "_partial_"))
        if key in values
    ]
    mistakes += _options(values, written, accepted, path, passed)
    for name, option in accepted.options.items():
        if option.required and name not in values and name not in passed:
            mistakes.append(Mistake(f"{path}.{name}", f"is required: write +{path}.{name}=…"))
    return accepted, mistakes


def _options(
    values: dict[str, Any], written: Any, accepted: Signature, path: str, passed: Collection[str] = ()
) -> Iterator[Mistake]:
    """Check the options of a node; the program itself sets the options in `passed`."""
    choices = [name for name in accepted.options if name not in passed]
    for key, value, source in items(values, written):
        name, here = str(key), join_path(path, str(key))
        if name in HYDRA_KEYS or source == MISSING or isinstance(value, Unresolved) or _is_reference(source):
            continue
        entry = f"{here}={format_value(value)}"
        if name in passed:
            yield Mistake(entry, "is set by the program: remove it")
        elif option := accepted.options.get(name):
            yield from _type_mistake(here, value, option)
        elif present := present_name(here):
            yield Mistake(entry, f"is now called {present}")
        elif not accepted.open:
            similar = [join_path(path, choice) for choice in nearest(name, choices)]
            if not similar and not path:  # perhaps an option of another node, written without its path
                similar = nearest(name, [other for other in paths_in(written) if "." in other])
            all_options = f"; the options are {format_names(choices) or 'none'}"
            yield Mistake(entry, f"no such option{did_you_mean(similar) or all_options}")


def _type_mistake(here: str, value: Any, option: Option) -> Iterator[Mistake]:
    if not matches_type(value, option.hint) and not (value is None and option.nullable):
        yield Mistake(f"{here}={format_value(value)}", f"expects {describe_type(option.hint)}, {describe_value(value)}")


def _is_reference(written: object) -> bool:
    """Whether a value refers to another key, which is checked at its own path."""
    return isinstance(written, str) and re.fullmatch(r"\$\{[\w.]+\}", written) is not None
