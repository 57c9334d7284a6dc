"""Validate a command line before Hydra starts anything, and collect all mistakes."""

import shlex
from typing import Any

from hydra.types import RunMode
from omegaconf import OmegaConf

from src.cli.choices import check_choice, is_choice
from src.cli.configuration import configuration_mistakes
from src.cli.override_keys import check_key
from src.cli.parsing import ParsedOverride, parse_overrides
from src.config.composition import Repository
from src.config.keys import key_of
from src.config.mistakes import Mistake
from src.config.quoting import quote

ONLY_SEARCH = "is an interval, which only a search can sample: add hparams_search=optuna, or list values: a,b,c"
SWEEP_KEYS = ("hydra.mode", "hydra.sweeper")  # options that determine whether to sweep, and over which values


def command_line_mistakes(repository: Repository, lines: list[str], *, sweeps: bool, deep: bool) -> list[Mistake]:
    """Find all mistakes in the overrides `lines` and in the configuration that is composed from them.

    Every value of a sweep is checked, but not every combination of values.

    Args:
        sweeps: whether an override may have several values, as with -m.
        deep: whether to import the classes that the configuration names and to validate their options.

    Raises:
        UserError: if the config files cannot be composed even without overrides.
    """
    overrides, mistakes = parse_overrides(lines, repository.loader)
    hydra = _compose_hydra(repository, overrides)
    sweeps = sweeps or hydra["mode"] == RunMode.MULTIRUN
    if sweeps:
        typed = {override.key for override in overrides}
        params = [f"{key}={value}" for key, value in (hydra["sweeper"].get("params") or {}).items() if key not in typed]
        defaults, wrong = parse_overrides(params, repository.loader)
        overrides, mistakes = defaults + overrides, wrong + mistakes
        if hydra["sweeper"].get("search", ...) is None:  # the sweeper of Heed, without a search
            mistakes += [Mistake(override.line, ONLY_SEARCH) for override in overrides if override.is_interval]
    else:
        mistakes += [_several_values(override) for override in overrides if override.is_sweep]
    invalid = {mistake.entry for mistake in mistakes}  # only the keys of these overrides are checked below
    unset = set(map(key_of, invalid))

    choices = [override for override in overrides if is_choice(override, repository.groups)]
    options = [override for override in overrides if override not in choices]
    rows, unknown, wrong = _combine_choices(choices, repository)
    mistakes += wrong
    for row in rows:
        cfg, errors = repository.compose_valid(row)
        mistakes += [Mistake(line, error) for line, error in errors.items()]
        checked = [(override, check_key(override, cfg, repository)) for override in options]
        mistakes += [mistake for override, mistake in checked if mistake and not override.key.startswith(unknown)]
        options = [override for override, mistake in checked if not mistake]
    options = [override for override in options if override.line not in invalid]
    # This step imports classes, which takes seconds. It is skipped if there are mistakes but no options to validate.
    if deep and (options or not mistakes):
        for row in rows:
            in_config = configuration_mistakes(repository, row, options, overrides, sweeps)
            # An option whose override is invalid is not reported again as a required option that is missing
            mistakes += [mistake for mistake in in_config if mistake.entry not in unset]
    return mistakes


def _compose_hydra(repository: Repository, overrides: list[ParsedOverride]) -> dict[str, Any]:
    """Return the node `hydra` of the configuration, which determines whether to sweep, and over which values."""
    lines = [
        override.line
        for override in overrides
        if (override.key.startswith(SWEEP_KEYS) or is_choice(override, repository.groups))
        and (override.lines and not override.is_sweep)
    ]
    cfg, _ = repository.compose_valid(lines)
    return OmegaConf.to_container(cfg.hydra, resolve=False)  # type: ignore[return-value]


def _several_values(override: ParsedOverride) -> Mistake:
    value = override.line.partition("=")[2]
    as_list, as_text = override.with_value(f"[{value}]"), shlex.quote(override.with_value(quote(value)))
    return Mistake(override.line, f"has several values: add -m to run each value, or write {as_list} or {as_text}")


def _combine_choices(
    choices: list[ParsedOverride], repository: Repository
) -> tuple[list[list[str]], tuple[str, ...], list[Mistake]]:
    """Validate the overrides that choose files.

    Returns:
        Rows of overrides, with one valid choice per group in each row and every valid choice in some row; the prefixes
            of options that cannot be checked, because no choice of their group is valid; and the mistakes.
    """
    columns: list[list[str]] = []
    unknown: list[str] = []
    mistakes: list[Mistake] = []
    for override in choices:
        wrong, corrected = check_choice(override, repository)
        mistakes += wrong
        if corrected:
            columns.append(corrected)
        else:
            unknown.append(override.key.replace("/", ".") + ".")
    rows = [[column[i % len(column)] for column in columns] for i in range(max(map(len, columns), default=1))]
    return rows, tuple(unknown), mistakes
