"""Whether an override names an option that exists, and what was probably meant where it does not."""

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from src.cli.choices import Groups
from src.cli.parsing import Given
from src.config.dotted_paths import paths_in
from src.config.mistakes import Mistake, did_you_mean, format_names, nearest, no_such_choice
from src.config.required import required_message
from src.config.schema import WITHIN
from src.config.validation import option_at

Paths = Mapping[str, Any]  # dotted path → its plain value, interpolations as written


def check_key(given: Given, cfg: DictConfig, command: str, groups: Groups) -> Mistake | None:
    """The mistake in the key of an override, if there is one; `cfg` is what stands without the override."""
    paths = paths_in(OmegaConf.to_container(cfg, resolve=False))
    group = given.key.replace(".", "/")
    is_mapping = any(isinstance(value, dict) for value in given.values)
    if group in groups and not is_mapping and given.mark != "~":
        return Mistake(given.line, _as_choice(given, group, groups))
    if given.key not in paths:
        is_new = given.mark in ("+", "++") and bool(given.lines)  # whether it is taken shows the whole
        return None if is_new else Mistake(given.line, _no_such(given, cfg, command, paths, groups))
    if not given.lines:
        return Mistake(given.line, "fits nothing: glob() is for the choices of a group")
    if given.mark == "+" and paths[given.key] is not None:
        return Mistake(given.line, f"exists already: write {f'+{given.line}' if is_mapping else given.line[1:]}")
    if given.mark == "~":
        return _left_out(given, groups)
    inner = isinstance(paths[given.key], dict) and not given.key.startswith("hydra.")
    if inner and not is_mapping and any(value is not None for value in given.values):
        within = [f"{given.key}.{name}" for name in paths[given.key] if not str(name).startswith("_")]
        return Mistake(given.line, f"is not one option but several: {format_names(within)}")
    return None


def _left_out(given: Given, groups: Groups) -> Mistake | None:
    """The mistake in taking an option away, if it must stay."""
    parent, _, name = given.key.rpartition(".")
    group = parent.replace(".", "/")
    if name == "_target_" and groups.get(group):
        return Mistake(given.line, f"names the class of {parent}: choose another with {group}=…")
    group = given.key.replace(".", "/")
    if groups.get(group) and parent in ("", *WITHIN, "data"):
        return Mistake(given.line, required_message(group, groups[group]))
    return Mistake(given.line, "cannot be left out") if parent in ("", *WITHIN) else None


def _as_choice(given: Given, group: str, groups: Groups) -> str:
    """The slip that Hydra takes in silence: it replaces the part's whole configuration by a word."""
    value = given.line.partition("=")[2]
    choices = groups[group]
    if not choices:
        within = sorted(name for name in groups if name.startswith(f"{group}/"))
        return f"is a folder of groups; there are {format_names(within)}"
    if all(value in choices for value in given.values):
        return f"names a file, so with a slash: write {given.mark}{group}={value}"
    wrong = f"{value} is {no_such_choice(value, choices)}"
    return f"names a file, so with a slash: write {given.mark}{group}=…; {wrong}"


def _no_such(given: Given, cfg: DictConfig, command: str, paths: Paths, groups: Groups) -> str:
    key, _, value = given.line.lstrip("+~").partition("=")
    typed = key.replace("/", ".")
    if typed in paths:
        return f"is an option, with dots: write {given.mark}{typed}={value}"
    new = next(path for path in _prefixes(given.key) if path not in paths)
    if given.lines and option_at(cfg, command, new):
        return f"is not in the configuration yet: write +{given.line}"
    names = {path: path for path in paths if given.key.startswith("hydra") or not path.startswith("hydra.")}
    names |= {group.replace("/", "."): group for group, choices in groups.items() if choices}
    kind = "group" if "/" in given.key else "option"
    return f"no such {kind}{did_you_mean([names[name] for name in nearest(typed, names)])}"


def _prefixes(key: str) -> list[str]:
    """`a.b.c` → a, a.b, a.b.c."""
    names = key.split(".")
    return [".".join(names[: i + 1]) for i in range(len(names))]
