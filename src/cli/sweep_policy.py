"""Limits on the overrides in a sweep.json, which may come from another person.

The overrides may choose among the config files of this installation and set plain options. An override that selects
code, or a place outside the sweep's folder to which results are written, must be repeated on the command line.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from src.cli.checkpoint_policy import SOURCES, TRUSTED_TO_RESUME, policy_mistakes
from src.cli.choices import check_choice, is_choice
from src.cli.configuration import trusted_by_user
from src.cli.parsing import parse_overrides
from src.config.composition import Repository
from src.config.keys import LOCAL, is_within, paths_in
from src.config.mistakes import Mistake

FLAGS = ("config_path", "config_name", "config_dir")
NUMERIC = ("hydra.launcher", "hydra.sweeper")  # nodes in which a sweep.json may set numbers, booleans and null only
REPEAT = "is allowed only on the command line: add it to this command if you trust it"


def recorded_flag_mistakes(recorded: Mapping[str, Any], typed: Mapping[str, Any]) -> Iterator[Mistake]:
    """Find recorded flags that choose other config files and are not repeated on the command line."""
    for flag in FLAGS:
        if recorded[flag] is not None and typed[flag] is None:
            yield Mistake(f"--{flag.replace('_', '-')}={recorded[flag]}", REPEAT)


def recorded_override_mistakes(
    recorded: Iterable[str], typed: list[str], folder: str, repository: Repository
) -> Iterator[Mistake]:
    """Find recorded overrides that a sweep.json must not contain.

    Args:
        recorded: the overrides of the sweep and of its jobs.
        typed: the overrides on the command line. They are allowed; if an override has several values, so is the
            override with each of these values.
        folder: folder of the sweep.
        repository: the config files that the command line selects.
    """
    overrides, _ = parse_overrides(typed, repository.loader)
    trusted = trusted_by_user(repository, overrides, TRUSTED_TO_RESUME)
    allowed = {*typed, *(line for override in overrides for line in override.lines)}
    untyped = [line for line in dict.fromkeys(recorded) if line not in allowed]
    for override in parse_overrides(untyped, repository.loader)[0]:
        if override.package is not None and _is_local(override.package, None):
            yield Mistake(override.line, REPEAT)
        elif override.prefix == "~":
            continue
        elif is_choice(override, repository.groups):
            yield from check_choice(override, repository)[0]
        elif any(
            _is_local(path, item) for value in override.values for path, item in paths_in(value, override.key).items()
        ):
            yield Mistake(override.line, REPEAT)
        else:
            for value in override.values:
                for mistake in policy_mistakes({override.key: value}, folder, trusted):
                    yield Mistake(override.line, mistake.message)


def _is_local(path: str, value: Any) -> bool:
    """Return whether only the command line may set this value at this path."""
    if is_within(path, NUMERIC):
        return value is not None and not isinstance(value, int | float)
    if isinstance(value, str) and "${" in value and not is_within(path, SOURCES):
        return True  # the reference may resolve to a path outside the sweep's folder
    return is_within(path, ("hydra", *LOCAL)) and path not in ("hydra.mode", "hydra.sweep.dir")
