"""Validate the configuration that is composed from the config files and the overrides of a command line."""

from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, open_dict, read_write

from src.cli.parsing import ParsedOverride
from src.config.composition import Repository, without_hydra
from src.config.hydra_node import hydra_mistakes
from src.config.mistakes import Mistake
from src.config.options import COMMANDS, of_record
from src.config.paths import hydra_output_mistakes, output_folder
from src.config.plain import MISSING, plain_values, value_at
from src.config.targets import TRUSTED
from src.config.validation import config_mistakes, sweep_value_mistakes, trusted_modules
from src.errors import UserError
from src.formatting import format_value
from src.kernels.malloc import reuse_freed_memory
from src.run_folder import require_new

DEFAULT_TAGS = ["dev"]  # the tags in conf/train.yaml and conf/eval.yaml


def configuration_mistakes(
    repository: Repository,
    choices: list[str],
    options: list[ParsedOverride],
    overrides: list[ParsedOverride],
    sweeps: bool,
) -> Iterator[Mistake]:
    """Find the mistakes in a whole configuration; for a single training run, this includes a dry build.

    The jobs of a sweep undergo the dry build later, after they are composed.

    Args:
        choices: overrides that choose config files; mistakes in these overrides are already reported.
        options: overrides of options, with valid keys.
        overrides: all overrides on the command line.
        sweeps: whether an override may have several values.
    """
    cfg, errors = repository.compose_valid(choices + [override.lines[0] for override in options])
    yield from (Mistake(line, error) for line, error in errors.items() if line not in choices)
    with _values_of_a_run(cfg, sweeps) as output_mistakes:
        yield from output_mistakes
        yield from _folder_mistakes(cfg, sweeps)
        task = without_hydra(cfg)
        requested = trusted_modules(task)
        trusted = TRUSTED if requested <= TRUSTED else trusted_by_user(repository, overrides)
        if untrusted := sorted(requested - trusted):
            entry = f"extras.trusted_modules={format_value(untrusted)}"
            yield Mistake(entry, "is allowed only on the command line or in conf/extras")
            task.extras.trusted_modules = sorted(trusted)
        yield from _package_mistakes(repository, [line for line in choices if line not in errors], task)
        yield from hydra_mistakes(cfg.hydra, trusted - TRUSTED)
        yield from _environment_mistakes(cfg.hydra, overrides)
        yield from _tag_mistakes(task, overrides)
        mistakes = list(config_mistakes(task, repository.command))
        yield from mistakes
        if repository.command == "train" and not sweeps:
            from src import dry_build  # imports torch

            reuse_freed_memory()  # must precede the first tensors, which the dry build creates
            yield from dry_build.build_mistakes(task, mistakes)
        for override in options:
            yield from sweep_value_mistakes(task, repository.command, override.key, override.values[1:])


def _folder_mistakes(cfg: DictConfig, sweeps: bool) -> Iterator[Mistake]:
    """Find a run in the output folder; Hydra would replace its files before the new run starts."""
    folder = output_folder(cfg.hydra, sweeps=False)
    resumes = cfg.get("train") and cfg.get("ckpt_path")
    if "task_name" in cfg and not sweeps and folder and not resumes:
        try:
            require_new(Path(folder))
        except UserError as error:
            yield Mistake(f"hydra.run.dir={folder}", str(error))


@contextmanager
def _values_of_a_run(cfg: DictConfig, sweeps: bool) -> Iterator[list[Mistake]]:
    """Set the values in `cfg.hydra` that Hydra sets at the start of a run; yield mistakes in folders and job name."""

    def set_values(folder: str) -> None:
        with read_write(cfg.hydra), open_dict(cfg.hydra):
            cfg.hydra.runtime.output_dir = folder
            cfg.hydra.job.num, cfg.hydra.job.id = 0, "0"
        HydraConfig.instance().set_config(cfg)  # for interpolations of ${hydra:…}

    try:
        set_values(MISSING)  # as in Hydra, which resolves the output folder first
        mistakes = list(hydra_output_mistakes(cfg.hydra, sweeps=sweeps))
        folder = None if mistakes else output_folder(cfg.hydra, sweeps=sweeps)
        set_values(str(Path(folder).absolute()) if folder else ".")
        yield mistakes
    finally:
        HydraConfig.instance().cfg = None


def trusted_by_user(repository: Repository, overrides: list[ParsedOverride], built_in: Set[str] = TRUSTED) -> Set[str]:
    """Return `built_in` and the modules trusted on the command line or in conf/extras, but not in any other file."""
    extras = [override.line for override in overrides if override.lines and override.key.split(".")[0] == "extras"]
    cfg, _ = repository.without_added_folders().compose_valid(extras)
    return trusted_modules(cfg, built_in)


def _package_mistakes(repository: Repository, choices: list[str], task: DictConfig) -> Iterator[Mistake]:
    """Find config files that set a node that the command does not read, such as `experiment`; remove it from `task`."""
    options = of_record(COMMANDS[repository.command]).options
    for path, package in repository.selected_files([*repository.search, *choices]):
        name = package.partition(".")[0]
        if name and name != "hydra" and name not in options:
            line = "# @package _global_"
            yield Mistake(f"{name}={path.stem}", f"{path} sets no options of the command: add the first line {line}")
            with open_dict(task):
                task.pop(name, None)


def _environment_mistakes(hydra: DictConfig, overrides: list[ParsedOverride]) -> Iterator[Mistake]:
    """Find environment variables that a config file sets; PATH, for example, would determine which programs run."""
    prefix = "hydra.job.env_set"
    typed = {override.key for override in overrides if override.key.startswith(f"{prefix}.")}
    for override in overrides:
        if override.key == prefix:
            typed |= {f"{prefix}.{name}" for value in override.values if isinstance(value, dict) for name in value}
    for name, value in hydra.job.env_set.items():
        if f"{prefix}.{name}" not in typed:
            yield Mistake(f"{prefix}.{name}={format_value(value)}", "is allowed only on the command line")


def _tag_mistakes(task: DictConfig, overrides: list[ParsedOverride]) -> Iterator[Mistake]:
    """Find missing tags if tags are required. The default tags count only if the command line sets them."""
    values = plain_values(task)
    tags = values.get("tags")
    is_default = tags in ([], DEFAULT_TAGS) and "tags" not in {override.key for override in overrides}
    if value_at(values, "extras.enforce_tags") is True and "tags" in values and (is_default or not tags):
        yield Mistake("extras.enforce_tags=true", "requires tags: write tags=[…], such as tags=[baseline,imdb]")
