"""Everything that uses Hydra's private API. pyproject.toml therefore pins the minor version of Hydra."""

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra import version
from hydra._internal.config_loader_impl import ConfigLoaderImpl, get_overrides_dirname
from hydra._internal.config_repository import CachingConfigRepository
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.utils import JobRuntime, setup_globals
from hydra.errors import ConfigCompositionException
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode, TaskFunction
from omegaconf import DictConfig, open_dict
from omegaconf.errors import OmegaConfBaseException

from src.config.copying import copy_config
from src.errors import UserError

SEARCH_PATH = "hydra.searchpath"


class CopiedFiles(CachingConfigRepository):
    """Config files that are read once for all compositions; each composition modifies its own copies."""

    def __init__(self, files: CachingConfigRepository) -> None:
        self.delegate = files
        self.cache = {}

    def load_config(self, config_path: str) -> ConfigResult | None:
        if config_path not in self.cache:
            self.cache[config_path] = copy_config(self.delegate.load_config(config_path))
        return self.cache[config_path]


class Loader(ConfigLoaderImpl):
    """Hydra's config loader. It composes each selection of files once, and sets options in a copy of the result.

    Reading and merging files takes 0.1 s; setting options takes a few milliseconds.

    Args:
        folder: contains the primary config and the groups.
        job_name: the value of `hydra.job.name`.
        extra: the folder that `--config-dir` sets, which is searched before `folder`.

    Raises:
        UserError: if `extra` is not a folder.
    """

    def __init__(self, folder: Path, job_name: str, extra: str | None = None) -> None:
        version.setbase("1.3")
        setup_globals()
        JobRuntime.instance().set("name", job_name)
        path = create_config_search_path(str(folder))
        if extra is not None:
            if not Path(extra).is_dir():
                raise UserError(f"--config-dir={extra}: no such folder")
            path.prepend("command-line", f"file://{Path(extra).resolve()}", SearchPathQuery(provider="schema"))
        super().__init__(path)
        self._files: dict[tuple[str | None, tuple[str, ...]], CachingConfigRepository] = {}
        self._compositions: dict[tuple[str | None, RunMode, tuple[str, ...]], DictConfig] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_files": {}, "_compositions": {}}  # launchers pickle the loader with every job

    def files(self, config_name: str | None, search: Sequence[str] = ()) -> CachingConfigRepository:
        """Return the config files in all folders of a primary config's search path.

        Args:
            search: overrides of `hydra.searchpath`, which add folders to this path.
        """
        key = config_name, tuple(search)
        if key not in self._files:
            self._files[key] = super()._parse_overrides_and_create_caching_repo(config_name, list(search))[1]
        return self._files[key]

    def _parse_overrides_and_create_caching_repo(
        self, config_name: str | None, overrides: list[str]
    ) -> tuple[list[Override], CachingConfigRepository]:
        parsed = OverridesParser.create().parse_overrides(overrides)
        return parsed, CopiedFiles(self.files(config_name, _search(parsed)))

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """Compose a configuration as the method of the base class does."""
        parsed = OverridesParser.create().parse_overrides(overrides)
        if validate_sweep_overrides:
            self.validate_sweep_overrides_legal(parsed, run_mode, from_shell)
        selections, options = self._split(config_name, parsed)
        cfg = copy_config(self._compose_files(config_name, selections, run_mode))
        try:
            self._apply_overrides_to_config(options, cfg)
            _record_overrides(cfg, parsed)
        except OmegaConfBaseException as error:
            raise ConfigCompositionException() from error
        return cfg

    def _split(self, config_name: str | None, overrides: Sequence[Override]) -> tuple[tuple[str, ...], list[Override]]:
        """Return the overrides that select folders or files, as text, and those that set options; omit sweeps."""
        single = [override for override in overrides if not override.is_sweep_override()]
        search = _search(single)
        files = self.files(config_name, search)
        selections, options = list(search), []
        for override in single:
            if files.group_exists(override.key_or_group) and not isinstance(override.value(), dict):
                selections.append(str(override.input_line))
            else:
                options.append(override)
        return tuple(selections), options

    def _compose_files(self, config_name: str | None, selections: tuple[str, ...], run_mode: RunMode) -> DictConfig:
        for mode in (RunMode.RUN, run_mode):  # both modes give the same result if no choice is missing
            if (config_name, mode, selections) in self._compositions:
                return self._compositions[config_name, mode, selections]
        cfg = super().load_configuration(config_name, list(selections), run_mode)
        self._compositions[config_name, run_mode, selections] = cfg
        return cfg


def _search(overrides: Sequence[Override]) -> list[str]:
    return [str(override.input_line) for override in overrides if override.get_key_element() == SEARCH_PATH]


def _record_overrides(cfg: DictConfig, overrides: Sequence[Override]) -> None:
    """Record the command line in the node `hydra`, as Hydra does."""
    task = [override for override in overrides if not override.is_hydra_override()]
    cfg.hydra.overrides.hydra = [override.input_line for override in overrides if override.is_hydra_override()]
    cfg.hydra.overrides.task = [override.input_line for override in task]
    with open_dict(cfg.hydra):
        for key in cfg.hydra.job.env_copy:
            cfg.hydra.job.env_set[key] = os.environ[key]
    form = cfg.hydra.job.config.override_dirname
    cfg.hydra.job.override_dirname = get_overrides_dirname(task, form.exclude_keys, form.item_sep, form.kv_sep)


def file_of(files: CachingConfigRepository, name: str) -> Path | None:
    """Return the path of a config file, such as data/imdb; None if it does not exist or is one of Hydra's own."""
    for source in files.get_sources():
        path = Path(source.path) / f"{name}.yaml"
        if source.scheme() == "file" and path.is_file():
            return path
    return None


def undecodable_file(files: CachingConfigRepository) -> Path | None:
    """Return the path of the first config file that is not UTF-8 text, or None."""
    folders = [Path(source.path) for source in files.get_sources() if source.scheme() == "file"]
    for path in (path for folder in folders for path in sorted(folder.rglob("*.yaml"))):
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return path
    return None


def group_choices(files: CachingConfigRepository) -> dict[str, list[str]]:
    """Return the choices of each group, including Hydra's groups; a group that contains only groups has no choices."""
    choices: dict[str, list[str]] = {}
    pending = files.get_group_options("", ObjectType.GROUP)
    while pending:
        group = pending.pop()
        choices[group] = files.get_group_options(group, ObjectType.CONFIG)
        pending += [f"{group}/{name}" for name in files.get_group_options(group, ObjectType.GROUP)]
    return choices


def primary_configs(files: CachingConfigRepository) -> list[str]:
    """Return the names of the config files outside groups, except names with a leading underscore."""
    return [name for name in files.get_group_options("", ObjectType.CONFIG) if not name.startswith("_")]


def parse_flags(arguments: Sequence[str]) -> Namespace:
    """Parse a command line; overrides and Hydra's flags may come in any order."""
    return get_args_parser().parse_intermixed_args(arguments)


def combinations(overrides: Sequence[Override]) -> list[list[str]]:
    """Return every combination of the values of a sweep, each as a list of overrides."""
    return BasicSweeper.split_arguments(list(overrides), None)[0]


def execute(loader: ConfigLoader, flags: Namespace, command: str, config_name: str, task: TaskFunction) -> None:
    """Run a task once or as a sweep, or print the information that a flag requests.

    Args:
        flags: the result of `parse_flags`.
        command: name of the command, and of the job.
        task: a function that is called with the configuration of each run.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"
    overrides = flags.overrides
    hydra = Hydra(command, loader)
    GlobalHydra.instance().initialize(hydra)
    try:
        if flags.hydra_help:
            hydra.hydra_help(config_name=config_name, args_parser=get_args_parser(), args=flags)
        elif flags.shell_completion:
            hydra.shell_completion(config_name, overrides)
        elif flags.cfg:
            hydra.show_cfg(config_name, overrides, flags.cfg, flags.package, flags.resolve)
        elif flags.info:
            hydra.show_info(flags.info, config_name, overrides)
        else:
            mode = hydra.get_mode(config_name, overrides)
            if mode is None or (flags.multirun and mode == RunMode.RUN):
                mode = RunMode.MULTIRUN if flags.multirun else RunMode.RUN
                overrides = [*overrides, f"hydra.mode={mode.name}"]
            (hydra.run if mode == RunMode.RUN else hydra.multirun)(config_name, task, overrides)
    finally:
        GlobalHydra.instance().clear()
