"""Read the config groups and their choices, and compose a configuration from overrides."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, open_dict, read_write
from yaml import YAMLError

from src.config.copying import copy_config
from src.config.hydra_adapter import Loader, file_of, group_choices, primary_configs, undecodable_file
from src.config.hydra_errors import explain, explain_yaml
from src.errors import UserError
from src.misspellings import did_you_mean, nearest


class Repository:
    """The config files that one command reads.

    Args:
        folder: contains the primary config and the groups.
        command: train, eval, predict or export.
        config_name: name of the primary config, if it differs from the name of the command.
        extra: the folder that `--config-dir` sets, which is searched before `folder`.
        search: the overrides of `hydra.searchpath`, which add further folders.

    Raises:
        HydraException: if an override in `search` is invalid.
        UserError: if `extra` is not a folder, or there is no primary config with this name.
    """

    def __init__(
        self,
        folder: Path,
        command: str,
        config_name: str | None = None,
        extra: str | None = None,
        search: Iterable[str] = (),
    ) -> None:
        self.loader = Loader(folder, command, extra)
        self.folder = folder
        self.extra = extra
        self.command = command
        self.search = list(search)
        self.config_name = (config_name or command).removesuffix(".yaml")
        self.files = self.loader.files(self.config_name, self.search)
        primary = primary_configs(self.files)
        if self.config_name not in primary:
            meant = did_you_mean(nearest(self.config_name, primary))
            raise UserError(f"{folder} has no config named {self.config_name}{meant} ({', '.join(primary)})")

    def without_added_folders(self) -> "Repository":
        """Return the repository of the command without the folders that `--config-dir` and `hydra.searchpath` add.

        If the primary config is in one of these folders, the command's default primary config replaces it.
        """
        if self.extra is None and not self.search:
            return self
        try:
            return Repository(self.folder, self.command, self.config_name)
        except UserError:  # the primary config is in an added folder
            return Repository(self.folder, self.command)

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The choices of each group, including Hydra's groups; a group that contains only groups has no choices."""
        return group_choices(self.files)

    @cached_property
    def required_groups(self) -> set[str]:
        """The groups from which the primary config chooses exactly one file; this choice cannot be removed."""
        choices = self.compose([]).hydra.runtime.choices
        return {str(group) for group, name in choices.items() if isinstance(name, str)}

    def selected_files(self, overrides: list[str]) -> Iterator[tuple[Path, str]]:
        """Yield each selected config file in order of composition, with the path of its node; omit Hydra's files."""
        for default in self.loader.compute_defaults_list(self.config_name, overrides, RunMode.RUN).defaults:
            if default.config_path and (path := file_of(self.files, default.config_path)):
                yield path, default.package or ""

    def choices(self, overrides: list[str]) -> set[str]:
        """Return the selected choices, as `group/choice`, and the files that the primary config includes by name."""
        defaults = self.loader.compute_defaults_list(self.config_name, overrides, RunMode.RUN)
        groups = {f"{group}/{name}" for group, name in defaults.overrides.known_choices.items()}
        return groups | {str(file.config_path) for file in defaults.defaults if file.parent == self.config_name}

    def compose(self, overrides: list[str]) -> DictConfig:
        """Compose a configuration from `overrides`; the result includes the node `hydra`.

        Raises:
            HydraException: if an override cannot be applied.
            UserError: if a config file is not valid YAML or not UTF-8 text.
        """
        try:
            overrides = [*self.search, *(override for override in overrides if override not in self.search)]
            return self.loader.load_configuration(self.config_name, overrides, RunMode.RUN, from_shell=False)
        except UnicodeDecodeError as error:
            file = undecodable_file(self.files) or "a config file"
            raise UserError(f"{file}: is not UTF-8 text: save it as UTF-8") from error
        except ValueError as error:  # Hydra raises a ValueError for a choice that is not text
            raise HydraException(str(error)) from error
        except YAMLError as error:
            raise UserError(explain_yaml(error)) from error

    def compose_valid(self, overrides: list[str]) -> tuple[DictConfig, dict[str, str]]:
        """Compose a configuration from the valid overrides; return it and the error message of each invalid override.

        Raises:
            UserError: if the config files cannot be composed even without overrides, or if a selected file is not valid
                YAML or not UTF-8 text.
        """
        try:
            return self.compose(overrides), {}
        except HydraException:
            pass  # the overrides are tried one by one below
        try:
            cfg = self.compose([])
        except HydraException as error:
            raise UserError(explain(error)) from error
        valid: list[str] = []
        errors = dict.fromkeys(overrides, "")
        progress = True
        while progress:  # an override may depend on a later one
            progress = False
            for override in list(errors):
                try:
                    cfg = self.compose([*valid, override])
                except HydraException as error:
                    errors[override] = explain(error)
                else:
                    valid.append(override)
                    del errors[override]
                    progress = True
        return cfg, errors


def without_hydra(cfg: DictConfig) -> DictConfig:
    """Return a copy of a composed configuration without the node `hydra`, as Hydra passes it to a task."""
    task = copy_config(cfg)
    with read_write(task), open_dict(task):
        del task["hydra"]
    return task
