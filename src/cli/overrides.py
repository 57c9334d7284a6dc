"""Validate a command line before Hydra starts anything, and collect all mistakes."""

import shlex
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from src.cli.choices import check_choice, is_choice
from src.cli.keys import check_key
from src.cli.parsing import ParsedOverride, parse_overrides
from src.config.composition import Repository, without_hydra
from src.config.hydra_node import hydra_mistakes
from src.config.mistakes import Mistake
from src.config.paths import hydra_output_mistakes, output_folder
from src.config.quoting import quote
from src.config.targets import TRUSTED
from src.config.validation import config_mistakes, sweep_value_mistakes, trusted_modules
from src.formatting import format_value
from src.kernels.malloc import reuse_freed_memory

DEFAULT_TAGS = ["dev"]  # of conf/train.yaml and conf/eval.yaml
SWEEP_KEYS = ("hydra.mode", "hydra.sweeper")  # options that determine whether to sweep, and over which values


def command_line_mistakes(repository: Repository, lines: list[str], *, sweeps: bool, deep: bool) -> list[Mistake]:
    """Find all mistakes of the overrides `lines` and of the configuration that they compose.

    Every value of a sweep is checked, but not every combination of values.

    Args:
        repository: the config files.
        lines: the overrides as typed.
        sweeps: whether overrides may have several values, as with -m.
        deep: also import the classes that the configuration names, and validate their options.

    Raises:
        UserError: if the files do not compose even without overrides.
    """
    overrides, mistakes = parse_overrides(lines, repository.loader)
    ambiguous = {mistake.entry for mistake in mistakes}  # the keys are known, the values are not
    hydra = _hydra(repository, overrides)
    sweeps = sweeps or hydra["mode"] == RunMode.MULTIRUN
    if sweeps:
        typed = {override.key for override in overrides}
        params = (hydra["sweeper"].get("params") or {}).items()
        defaults, wrong = parse_overrides(
            [f"{key}={value}" for key, value in params if key not in typed], repository.loader
        )
        overrides, mistakes = defaults + overrides, wrong + mistakes
    else:
        mistakes += [_several_values(override) for override in overrides if override.is_sweep]
        ambiguous |= {override.line for override in overrides if override.is_sweep}

    choices = [override for override in overrides if is_choice(override, repository.groups)]
    options = [override for override in overrides if override not in choices]
    columns: list[list[str]] = []  # for each choice its valid overrides
    unknown: list[str] = []  # groups without a valid choice, whose options are unknown
    for override in choices:
        wrong, corrected = check_choice(override, repository)
        mistakes += wrong
        columns += [corrected] if corrected else []
        unknown += [] if corrected else [override.key.replace("/", ".") + "."]

    rows = [[column[i % len(column)] for column in columns] for i in range(max(map(len, columns), default=1))]
    for row in rows:
        cfg, errors = repository.compose_valid(row)
        mistakes += [Mistake(line, error) for line, error in errors.items()]
        checked = [(override, check_key(override, cfg, repository.command, repository.groups)) for override in options]
        mistakes += [
            mistake for override, mistake in checked if mistake and not override.key.startswith(tuple(unknown))
        ]
        options = [override for override, mistake in checked if not mistake]
    options = [override for override in options if override.line not in ambiguous]
    # Values are validated by importing classes, which takes seconds. After a wrong name, that is done for options only.
    if deep and (options or not mistakes):
        for row in rows:
            mistakes += _run_mistakes(repository, row, options, overrides, sweeps)
    return mistakes


def _several_values(override: ParsedOverride) -> Mistake:
    value = override.line.partition("=")[2]
    as_list, as_text = override.with_value(f"[{value}]"), shlex.quote(override.with_value(quote(value)))
    return Mistake(override.line, f"has several values: add -m to run each, or write {as_list} or {as_text}")


def _hydra(repository: Repository, overrides: list[ParsedOverride]) -> dict[str, Any]:
    """The node `hydra` of the configuration; it determines whether to sweep, and over which values."""
    relevant = [
        override
        for override in overrides
        if override.key.startswith(SWEEP_KEYS) or is_choice(override, repository.groups)
    ]
    cfg, _ = repository.compose_valid(
        [override.line for override in relevant if override.lines and not override.is_sweep]
    )
    return OmegaConf.to_container(cfg.hydra, resolve=False)  # type: ignore[return-value]


def trusted_by_user(repository: Repository, overrides: list[ParsedOverride], built_in: Set[str] = TRUSTED) -> Set[str]:
    """The modules that the command line or conf/extras trusts; an experiment file must not add any."""
    extras = [override.line for override in overrides if override.lines and override.key.split(".")[0] == "extras"]
    cfg, _ = repository.without_added_folders().compose_valid(extras)
    return trusted_modules(cfg, built_in)


def _environment_mistakes(hydra: DictConfig, overrides: list[ParsedOverride]) -> Iterator[Mistake]:
    """Find environment variables that a file sets: PATH or LD_PRELOAD could run other programs."""
    prefix = "hydra.job.env_set"
    typed = {override.key for override in overrides if override.key.startswith(f"{prefix}.")}
    for override in overrides:
        if override.key == prefix:
            typed |= {f"{prefix}.{name}" for value in override.values if isinstance(value, dict) for name in value}
    for name, value in hydra.job.env_set.items():
        if f"{prefix}.{name}" not in typed:
            yield Mistake(f"{prefix}.{name}={format_value(value)}", "is allowed on the command line only")


def _tag_mistakes(task: DictConfig, overrides: list[ParsedOverride]) -> Iterator[Mistake]:
    """Find missing tags, if they are enforced. The default ones must be typed to count."""
    is_default = task.get("tags") in ([], DEFAULT_TAGS) and "tags" not in {override.key for override in overrides}
    if OmegaConf.select(task, "extras.enforce_tags") is True and "tags" in task and (is_default or not task.tags):
        yield Mistake("extras.enforce_tags=true", "requires tags: write tags=[…], such as tags=[baseline,imdb]")


def _run_mistakes(
    repository: Repository, row: list[str], options: list[ParsedOverride], overrides: list[ParsedOverride], sweeps: bool
) -> Iterator[Mistake]:
    """Find the mistakes of a whole configuration, with one choice in each group.

    A single training also gets a dry build. The jobs of a sweep have their own.
    """
    cfg, errors = repository.compose_valid(row + [override.lines[0] for override in options])
    yield from (Mistake(line, error) for line, error in errors.items() if line not in row)
    with read_write(cfg.hydra), open_dict(cfg.hydra):  # values that Hydra sets when a run starts
        cfg.hydra.runtime.output_dir = "."
        cfg.hydra.job.num, cfg.hydra.job.id = 0, "0"
    HydraConfig.instance().set_config(cfg)
    try:
        output_mistakes = list(hydra_output_mistakes(cfg.hydra, sweeps=sweeps))
        yield from output_mistakes
        if not output_mistakes:
            with read_write(cfg.hydra):
                cfg.hydra.runtime.output_dir = str(Path(output_folder(cfg.hydra, sweeps=sweeps) or ".").absolute())
            HydraConfig.instance().set_config(cfg)
        task = without_hydra(cfg)
        requested = trusted_modules(task)
        trusted = TRUSTED if requested <= TRUSTED else trusted_by_user(repository, overrides)
        if untrusted := sorted(requested - trusted):
            yield Mistake(
                f"extras.trusted_modules={format_value(untrusted)}",
                "is allowed on the command line or in conf/extras only",
            )
            task.extras.trusted_modules = sorted(trusted)
        yield from hydra_mistakes(cfg.hydra, trusted - TRUSTED)
        yield from _environment_mistakes(cfg.hydra, overrides)
        yield from _tag_mistakes(task, overrides)
        mistakes = list(config_mistakes(task, repository.command))
        yield from mistakes
        if repository.command == "train" and not sweeps:
            from src import dry_build  # imports torch

            reuse_freed_memory()  # before the first tensors, which the dry build makes
            yield from dry_build.build_mistakes(task, mistakes)
        for override in options:
            yield from sweep_value_mistakes(task, repository.command, override.key, override.values[1:])
    finally:
        HydraConfig.instance().cfg = None
