"""What a command line gets wrong, found before Hydra starts anything, and all of it at once."""

import shlex
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from src.cli.choices import check_choice, is_choice
from src.cli.keys import check_key
from src.cli.parsing import Given, read
from src.config.composition import Repository, without_hydra
from src.config.hydra_node import mistakes_in_hydra
from src.config.mistakes import Mistake, shown
from src.config.outputs import folder_of, misplaced_by_hydra
from src.config.quoting import literal
from src.config.targets import TRUSTED
from src.config.validation import mistakes_in, trusted_modules, wrong_values
from src.kernels.malloc import reuse_freed_memory

DECIDING = ("hydra.mode", "hydra.sweeper")  # options that say whether to sweep, and over what


def mistakes_of(repository: Repository, lines: list[str], *, sweeps: bool, deep: bool) -> list[Mistake]:
    """All mistakes of the overrides `lines` and of the configuration that they make.

    Every value of a sweep is checked, though not every combination of values.

    Args:
        repository: the config files.
        lines: overrides as typed.
        sweeps: whether an override may hold several values, as with -m.
        deep: also import the classes that the configuration names, and check their options and types.

    Raises:
        UserError: if the files make no configuration even without overrides.
    """
    given, found = read(lines, repository.loader)
    doubtful = {wrong.where for wrong in found}  # which values were meant is not known, only which keys
    hydra = _hydra(repository, given)
    sweeps = sweeps or hydra["mode"] == RunMode.MULTIRUN
    if sweeps:
        typed = {one.key for one in given}
        params = (hydra["sweeper"].get("params") or {}).items()
        more, wrong = read([f"{key}={value}" for key, value in params if key not in typed], repository.loader)
        given, found = more + given, wrong + found
    else:
        found += [_several(one) for one in given if one.is_sweep]
        doubtful |= {one.line for one in given if one.is_sweep}

    choices = [one for one in given if is_choice(one, repository.groups)]
    options = [one for one in given if one not in choices]
    columns: list[list[str]] = []  # for each choice its values, or those that were probably meant
    blind: list[str] = []  # where nobody knows what was meant, and so which options there are
    for one in choices:
        wrong, meant = check_choice(one, repository.groups, repository.required)
        found += wrong
        columns += [meant] if meant else []
        blind += [] if meant else [one.key.replace("/", ".") + "."]

    rows = [[column[i % len(column)] for column in columns] for i in range(max(map(len, columns), default=1))]
    for row in rows:
        cfg, refused = repository.compose_what_can_be(row)
        found += [Mistake(line, why) for line, why in refused.items()]
        checked = [(one, check_key(one, cfg, repository.command, repository.groups)) for one in options]
        found += [wrong for one, wrong in checked if wrong and not one.key.startswith(tuple(blind))]
        options = [one for one, wrong in checked if not wrong]
    options = [one for one in options if one.line not in doubtful]
    if deep:
        for row in rows:
            found += _mistakes_of_run(repository, row, options, given, sweeps)
    return found


def _several(given: Given) -> Mistake:
    value = given.line.partition("=")[2]
    as_list, as_text = given.with_value(f"[{value}]"), shlex.quote(given.with_value(literal(value)))
    return Mistake(given.line, f"is several values: add -m to run each, or write {as_list} or {as_text}")


def _hydra(repository: Repository, given: list[Given]) -> dict[str, Any]:
    """Hydra's own part of the configuration: it says whether to sweep, and over what."""
    relevant = [one for one in given if one.key.startswith(DECIDING) or is_choice(one, repository.groups)]
    cfg, _ = repository.compose_what_can_be([one.line for one in relevant if one.lines and not one.is_sweep])
    return OmegaConf.to_container(cfg.hydra, resolve=False)  # type: ignore[return-value]


def _trusted_by_user(repository: Repository, given: list[Given]) -> Set[str]:
    """The modules that the command line or conf/extras trusts: an experiment file must not trust its own."""
    extras = [one.line for one in given if one.lines and one.key.split(".")[0] == "extras"]
    cfg, _ = repository.without_added_folders().compose_what_can_be(extras)
    return trusted_modules(cfg)


def _environment(hydra: DictConfig, overrides: list[Given]) -> Iterator[Mistake]:
    """A file must not set environment variables: PATH or LD_PRELOAD would decide which programs run."""
    prefix = "hydra.job.env_set"
    typed = {override.key for override in overrides if override.key.startswith(f"{prefix}.")}
    for override in overrides:
        if override.key == prefix:
            typed |= {f"{prefix}.{name}" for value in override.values if isinstance(value, dict) for name in value}
    for name, value in hydra.job.env_set.items():
        if f"{prefix}.{name}" not in typed:
            yield Mistake(f"{prefix}.{name}={shown(value)}", "is for the command line alone")


def _mistakes_of_run(
    repository: Repository, row: list[str], options: list[Given], given: list[Given], sweeps: bool
) -> Iterator[Mistake]:
    """What can be known only of a whole configuration: that of one choice in each group.

    The one of a single training is also built dry; the jobs of a sweep are so by themselves.
    """
    cfg, refused = repository.compose_what_can_be(row + [one.lines[0] for one in options])
    yield from (Mistake(line, why) for line, why in refused.items() if line not in row)
    with read_write(cfg.hydra), open_dict(cfg.hydra):  # what a run knows once it has started
        cfg.hydra.runtime.output_dir = "."
        cfg.hydra.job.num, cfg.hydra.job.id = 0, "0"
    HydraConfig.instance().set_config(cfg)
    try:
        misplaced = list(misplaced_by_hydra(cfg.hydra, sweeps=sweeps))
        yield from misplaced
        if not misplaced:
            with read_write(cfg.hydra):
                cfg.hydra.runtime.output_dir = str(Path(folder_of(cfg.hydra, sweeps=sweeps) or ".").absolute())
            HydraConfig.instance().set_config(cfg)
        task = without_hydra(cfg)
        asked = trusted_modules(task)
        trusted = TRUSTED if asked <= TRUSTED else _trusted_by_user(repository, given)
        if more := sorted(asked - trusted):
            yield Mistake(f"extras.trusted_modules={shown(more)}", "is for the command line or conf/extras alone")
            task.extras.trusted_modules = sorted(trusted)
        yield from mistakes_in_hydra(cfg.hydra, trusted - TRUSTED)
        yield from _environment(cfg.hydra, given)
        mistakes = list(mistakes_in(task, repository.command))
        yield from mistakes
        if repository.command == "train" and not sweeps:
            from src import dry_build  # it needs torch

            reuse_freed_memory()  # before the first tensors, which the dry build makes
            yield from dry_build.refused(task, mistakes)
        for one in options:
            yield from wrong_values(task, repository.command, one.key, one.values[1:])
    finally:
        HydraConfig.instance().cfg = None
