"""The folder of config files: its groups, its choices, and what a list of overrides composes."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from hydra import version
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.object_type import ObjectType
from hydra.core.utils import setup_globals
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, open_dict, read_write
from yaml import YAMLError

from src.config.hydra_errors import explain, explain_yaml
from src.config.mistakes import did_you_mean, nearest
from src.errors import UserError


class Repository:
    """The config files that one command reads.

    Args:
        folder: where the primary config and the groups stand.
        command: train, eval or predict.
        config_name: its primary config, where that is not named after it.
        extra: a folder that is searched before, as `--config-dir` adds it.
        search: the overrides of `hydra.searchpath`, which add more folders.
    """

    def __init__(
        self,
        folder: Path,
        command: str,
        config_name: str | None = None,
        extra: str | None = None,
        search: Iterable[str] = (),
    ) -> None:
        self._composed: dict[tuple[str, ...], tuple[DictConfig, dict[str, str]]] = {}
        version.setbase("1.3")
        setup_globals()
        path = create_config_search_path(str(folder))
        if extra is not None:
            before = SearchPathQuery(provider="schema")
            path.prepend("command-line", f"file://{Path(extra).resolve()}", before)
        self.loader = ConfigLoaderImpl(path)
        self.folder = folder
        self.extra = extra
        self.command = command
        self.search = list(search)
        self.config_name = (config_name or command).removesuffix(".yaml")
        _, self.files = self.loader._parse_overrides_and_create_caching_repo(self.config_name, self.search)
        found = self.files.get_group_options("", ObjectType.CONFIG)
        primary = [name for name in found if not name.startswith("_")]
        if self.config_name not in primary:
            meant = did_you_mean(nearest(self.config_name, primary))
            raise UserError(f"{folder} has no config named {self.config_name}{meant} ({', '.join(primary)})")

    def without_added_folders(self) -> "Repository":
        """The same command's files without those that `--config-dir` and `hydra.searchpath` add."""
        if self.extra is None and not self.search:
            return self
        try:
            return Repository(self.folder, self.command, self.config_name)
        except UserError:  # the primary config stands in an added folder
            return Repository(self.folder, self.command)

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The choices of each group, Hydra's own included; a folder of nothing but groups has none."""
        found: dict[str, list[str]] = {}
        waiting = self.files.get_group_options("", ObjectType.GROUP)
        while waiting:
            group = waiting.pop()
            found[group] = self.files.get_group_options(group, ObjectType.CONFIG)
            waiting += [f"{group}/{name}" for name in self.files.get_group_options(group, ObjectType.GROUP)]
        return found

    @cached_property
    def required(self) -> set[str]:
        """The groups of which the primary config chooses one file, and of which one must stay."""
        defaults = self.loader.compute_defaults_list(self.config_name, self.search, RunMode.RUN)
        return {group for group, name in defaults.overrides.known_choices.items() if isinstance(name, str)}

    def chosen(self, overrides: list[str]) -> set[str]:
        """The files, as `group/choice`, that the primary config and `overrides` name themselves."""
        defaults = self.loader.compute_defaults_list(self.config_name, overrides, RunMode.RUN)
        groups = {f"{group}/{name}" for group, name in defaults.overrides.known_choices.items()}
        return groups | {str(file.config_path) for file in defaults.defaults if file.parent == self.config_name}

    def compose(self, overrides: list[str]) -> DictConfig:
        """The configuration that `overrides` make, `hydra` included.

        Raises:
            HydraException: if they cannot be applied.
            UserError: if a file is no YAML.
        """
        try:
            overrides = [*self.search, *(line for line in overrides if line not in self.search)]
            return self.loader.load_configuration(self.config_name, overrides, RunMode.RUN, from_shell=False)
        except ValueError as error:  # Hydra's for a choice that is no text
            raise HydraException(str(error)) from error
        except YAMLError as error:
            raise UserError(explain_yaml(error)) from error

    def compose_valid(self, overrides: list[str]) -> tuple[DictConfig, dict[str, str]]:
        """The configuration of those overrides that can be applied, and for each of the others why it cannot.

        Raises:
            UserError: if the files alone, without any override, make no configuration.
        """
        known = self._composed.get(tuple(overrides))
        if known is None:
            known = self._composed[tuple(overrides)] = self._compose_valid(overrides)
        return known

    def _compose_valid(self, overrides: list[str]) -> tuple[DictConfig, dict[str, str]]:
        try:
            return self.compose(overrides), {}
        except HydraException:
            pass  # which of them it is shows below
        try:
            cfg = self.compose([])
        except HydraException as error:
            raise UserError(explain(error)) from error
        kept: list[str] = []
        refused = dict.fromkeys(overrides, "")
        again = True
        while again:  # an override may need another one that stands behind it
            again = False
            for override in list(refused):
                try:
                    cfg = self.compose([*kept, override])
                except HydraException as error:
                    refused[override] = explain(error)
                else:
                    kept.append(override)
                    del refused[override]
                    again = True
        return cfg, refused


def without_hydra(cfg: DictConfig) -> DictConfig:
    """What a task gets of a composed configuration."""
    task = cfg.copy()
    with read_write(task), open_dict(task):
        del task["hydra"]
    return task
