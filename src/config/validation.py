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
from src.config.plain import MISSING, Node, Unresolved, join_path, plain_node, plain_value
from src.config.ranges import range_mistakes
from src.config.required import missing_classes, missing_weights
from src.config.values import describe_type, describe_value, matches_type
from src.errors import UserError
from src.formatting import format_names, format_value
from src.misspellings import nearest, no_such

# Keys of a node with `_target_` that are not options of its class
HYDRA_KEYS = ("_target_", "_partial_", "_args_", "_recursive_", "_convert_")

Bases = Collection[type] | None  # an object must be an instance of one of these classes
NO_OBJECT: Bases = ()  # only plain values are allowed
UNKNOWN: Bases = None  # the class of the enclosing object is missing or wrong, which is reported separately

_validated: weakref.ref[DictConfig] | None = None  # the configuration that this process runs


def mark_validated(cfg: DictConfig) -> None:
    """Record that `cfg` was validated with the command line; for a training run, `src.dry_build` also succeeded."""
    global _validated
    _validated = weakref.ref(cfg)


def is_validated(cfg: DictConfig) -> bool:
    """Return whether `mark_validated` was last called with this object, which must not be changed after that call."""
    return _validated is not None and _validated() is cfg


def validate_config(cfg: DictConfig, command: str = "train", trusted: Set[str] = targets.TRUSTED) -> None:
    """Validate a composed configuration without the node `hydra`, and import the trusted classes that are named in it.

    Args:
        command: train, eval, predict or export, which accept different options.
        trusted: modules whose classes are allowed, in addition to `extras.trusted_modules`.

    Raises:
        UserError: if the configuration is invalid; the message lists all mistakes with their dotted paths.
    """
    mistakes = list(config_mistakes(cfg, command, trusted))
    if mistakes:
        raise UserError(format_mistakes(mistakes))


def config_mistakes(cfg: DictConfig, command: str, trusted: Set[str] = targets.TRUSTED) -> Iterator[Mistake]:
    """Find all mistakes in a composed configuration."""
    node = plain_node(cfg)
    values, trusted = node.value, trusted_modules(cfg, trusted)
    yield from _records(node, command)
    yield from _nodes(node, "", trusted, NO_OBJECT)
    yield from output_mistakes(values)
    yield from missing_classes(values, command)
    yield from missing_weights(values, command)
    yield from range_mistakes(node)
    yield from metric_mistakes(values)
    yield from monitor_mistakes(values, trusted)


def sweep_value_mistakes(cfg: DictConfig, command: str, path: str, values: list[Any]) -> Iterator[Mistake]:
    """Find values of the wrong type among the values that a sweep gives to one option."""
    option = option_at(cfg, command, path)
    for value in values:
        if option is not None and "${" not in str(value):
            yield from _type_mistake(path, value, option)


def option_at(cfg: DictConfig, command: str, path: str) -> Option | None:
    """Return the option that a class or record declares at `path`, even if `cfg` does not set it; None if none does."""
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
    """Check that the object at `path`, and every object nested in it, is allowed at its place.

    Raises:
        UserError: if an object is not allowed; the message lists every wrong `_target_`.
    """
    node = OmegaConf.select(cfg, path)
    if isinstance(node, DictConfig):
        mistakes = _nodes(plain_node(node), path, trusted_modules(cfg), NO_OBJECT)
        if wrong := [mistake for mistake in mistakes if "_target_" in mistake.entry]:
            raise UserError(format_mistakes(wrong))


def trusted_modules(cfg: DictConfig, built_in: Set[str] = targets.TRUSTED) -> Set[str]:
    """Return the modules whose classes `cfg` may name: `built_in` and `extras.trusted_modules`."""
    modules = plain_value(cfg, "extras.trusted_modules")
    return built_in | {module for module in (modules if isinstance(modules, list) else []) if isinstance(module, str)}


def _records(node: Node, command: str) -> Iterator[Mistake]:
    """Check the top-level keys of a command, and the keys of its nodes with fixed keys."""
    record, values = COMMANDS[command], node.value
    yield from _options(node, of_record(record), "")
    for name in WITHIN:
        if name in record and isinstance(values.get(name), dict):
            yield from _options(node.child(name), of_record(WITHIN[name]), name)


def _nodes(node: Node, path: str, trusted: Collection[str], bases: Bases) -> Iterator[Mistake]:
    """Check the values in a mapping or a list at every depth, and each object against its place and constructor."""
    accepted: Signature | None = Signature({}, open=False)
    if isinstance(node.value, dict) and "_target_" in node.value:
        accepted, mistakes = _check_object(node, path, trusted, bases)
        yield from mistakes
    for key, child in node.items():
        here = join_path(path, key)
        if child.written == MISSING:
            yield Mistake(here, f"is required: write {here}=…")
        elif isinstance(child.value, Unresolved):
            yield Mistake(f"{here}={child.value.written}", f"cannot be resolved: {child.value.reason}")
        elif isinstance(child.value, list | dict):
            yield from _nodes(child, here, trusted, bases if isinstance(node.value, list) else _bases(accepted, key))


def _bases(accepted: Signature | None, name: str) -> Bases:
    """Return the base classes that the option `name` of an object accepts."""
    if accepted is None:
        return UNKNOWN
    return accepted_classes(accepted.options[name].hint) if name in accepted.options else NO_OBJECT


def _check_object(
    node: Node, path: str, trusted: Collection[str], bases: Bases
) -> tuple[Signature | None, list[Mistake]]:
    """Return the options of an object's class (None if the class is invalid), and the mistakes in class and options."""
    values, place = node.value, place_at(path)
    target = values["_target_"]
    is_missing = node.child("_target_").written == MISSING
    if is_missing or isinstance(target, Unresolved) or (place is None and bases is UNKNOWN):
        return None, []  # the mistake is in `_target_` or in the enclosing object, and is reported there
    if place is not None:
        trusted, bases = place.allowed(trusted), [place.base_class]
    try:
        accepted = of_class(targets.find_subclass(target, trusted, bases or ()))
    except ValueError as error:
        return None, [Mistake(f"{path}._target_={format_value(target)}", str(error))]
    positional = [name for name, option in accepted.options.items() if option.positional]
    passed = {*positional[: place.positional], *place.keywords} if place else set()
    mistakes = [
        Mistake(f"{path}.{key}={format_value(values[key])}", "is not supported: write key=value options")
        for key in (("_args_", "_recursive_") if place else ("_args_", "_recursive_", "_partial_"))
        if key in values
    ]
    mistakes += _options(node, accepted, path, passed)
    for name, option in accepted.options.items():
        if option.required and name not in values and name not in passed:
            mistakes.append(Mistake(f"{path}.{name}", f"is required: write +{path}.{name}=…"))
    return accepted, mistakes


def _options(node: Node, accepted: Signature, path: str, passed: Collection[str] = ()) -> Iterator[Mistake]:
    """Check the options of a node; the program itself sets the options in `passed`."""
    choices = [name for name in accepted.options if name not in passed]
    for key, (value, written) in node.items():
        name, here = str(key), join_path(path, str(key))
        if name in HYDRA_KEYS or written == MISSING or isinstance(value, Unresolved) or _is_reference(written):
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
                similar = nearest(name, [other for other in paths_in(node.written) if "." in other])
            all_options = "" if similar else f"; the options are {format_names(choices) or 'none'}"
            yield Mistake(entry, no_such("option", similar) + all_options)


def _type_mistake(here: str, value: Any, option: Option) -> Iterator[Mistake]:
    if any(isinstance(item, Unresolved) for item in paths_in(value).values()):
        return  # `_nodes` reports each reference that cannot be resolved
    if not matches_type(value, option.hint) and not (value is None and option.nullable):
        yield Mistake(f"{here}={format_value(value)}", f"expects {describe_type(option.hint)}, {describe_value(value)}")


def _is_reference(written: object) -> bool:
    """Return whether a value is a reference to another key; the value is then checked at the other key."""
    return isinstance(written, str) and re.fullmatch(r"\$\{[\w.]+\}", written) is not None
