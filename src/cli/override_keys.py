"""Validate the key of an override, and suggest the nearest valid key."""

import re
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from src.cli.choices import Groups, describe_folder
from src.cli.parsing import ParsedOverride
from src.config.composition import Repository
from src.config.keys import paths_in, present_name
from src.config.mistakes import Mistake
from src.config.options import WITHIN
from src.config.places import place_at
from src.config.plain import written_values
from src.config.required import required_message
from src.config.validation import option_at
from src.formatting import format_names
from src.misspellings import nearest, no_such, no_such_choice


def check_key(override: ParsedOverride, cfg: DictConfig, repository: Repository) -> Mistake | None:
    """Return the mistake in the key of an override, or None.

    Args:
        cfg: the configuration composed without this override.
    """
    groups, paths = repository.groups, paths_in(written_values(cfg))
    group = override.key.replace(".", "/")
    is_mapping = any(isinstance(value, dict) for value in override.values)
    if group in groups and not is_mapping and override.prefix != "~":
        return Mistake(override.line, _describe_dotted_group(override, group, groups))
    if override.key not in paths:
        if present := present_name(override.key):
            return Mistake(override.line, f"is now called {present}")
        is_new = override.prefix in ("+", "++") and override.lines  # validated later, in the whole configuration
        return None if is_new else Mistake(override.line, _describe_unknown_key(override, cfg, repository))
    if not override.lines:
        return Mistake(override.line, "matches nothing: use glob() only for the choices of a group")
    if override.prefix == "+" and paths[override.key] is not None:
        corrected = f"+{override.line}" if is_mapping else override.line[1:]
        return Mistake(override.line, f"already exists: write {corrected}")
    if override.prefix == "~":
        return _check_removal(override, groups)
    inner = isinstance(paths[override.key], dict) and not override.key.startswith("hydra.")
    if inner and not is_mapping and any(value is not None for value in override.values):
        options = [f"{override.key}.{name}" for name in paths[override.key] if not str(name).startswith("_")]
        return Mistake(override.line, f"is a group of options: set one of {format_names(options)}")
    return None


def _check_removal(override: ParsedOverride, groups: Groups) -> Mistake | None:
    """Return a mistake if the option must not be removed, otherwise None."""
    parent, _, name = override.key.rpartition(".")
    group = parent.replace(".", "/")
    if name == "_target_" and groups.get(group):
        return Mistake(override.line, f"is the class of {parent}: choose another with {group}=…")
    group = override.key.replace(".", "/")
    if groups.get(group) and parent in ("", *WITHIN, "data"):
        return Mistake(override.line, required_message(group, groups[group]))
    return Mistake(override.line, "cannot be removed") if parent in ("", *WITHIN) else None


def _describe_dotted_group(override: ParsedOverride, group: str, groups: Groups) -> str:
    """Return the message about a group typed with dots, whose options Hydra would silently replace with the value."""
    value = override.line.partition("=")[2]
    choices = groups[group]
    if not choices:
        return describe_folder(group, groups)
    if all(value in choices for value in override.values):
        return f"is a group and needs a slash: write {override.prefix}{group}={value}"
    wrong = f"{value}: {no_such_choice(value, choices)}"
    return f"is a group and needs a slash: write {override.prefix}{group}=…; {wrong}"


def _describe_unknown_key(override: ParsedOverride, cfg: DictConfig, repository: Repository) -> str:
    """Return the message about a key that the configuration lacks."""
    paths = paths_in(written_values(cfg))
    key, _, value = override.line.lstrip("+~").partition("=")
    typed = key.replace("/", ".")
    if typed in paths:
        return f"is an option and needs dots: write {override.prefix}{typed}={value}"
    new = next(path for path in accumulate(override.key.split("."), "{}.{}".format) if path not in paths)
    if override.lines and _may_be_option(cfg, new) and option_at(cfg, repository.command, new):
        return f"is not in the configuration: write +{override.line}"
    names = {path: path for path in paths if override.key.startswith("hydra") or not path.startswith("hydra.")}
    names |= {group.replace("/", "."): group for group, choices in repository.groups.items() if choices}
    kind = "group" if "/" in override.key else "option"
    return no_such(kind, [names[name] for name in nearest(typed, names)])


def _may_be_option(cfg: DictConfig, path: str) -> bool:
    """Return whether a class may accept the option `path`, which the configuration lacks.

    If the parent node names a class, the option's name must occur in the source code of the package that contains this
    class, or of the package that contains the base class required at this place. Searching the code takes milliseconds;
    importing the class would take seconds.
    """
    parent, _, name = path.rpartition(".")
    node = OmegaConf.select(cfg, parent) if parent else None
    if not isinstance(node, DictConfig) or "_target_" not in set(node):
        return True
    options = written_values(node)
    place = place_at(parent)
    word = re.compile(rb"\b" + re.escape(name.encode(errors="replace")) + rb"\b")
    packages = {_package(str(options["_target_"])), _package(place.base) if place else None}
    return any(
        package is None or any(word.search(file.read_bytes()) for file in package.rglob("*.py")) for package in packages
    )


def _package(path: str) -> Path | None:
    """Return the folder of the innermost package in a dotted path, or None; the package is not imported."""
    top, *names = path.split(".")
    spec = find_spec(top) if top.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    for name in names:
        if not (folder / name / "__init__.py").exists():
            break
        folder /= name
    return folder
