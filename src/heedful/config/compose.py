"""Compose the configuration of a command from config files and overrides, and find every wrong name in the overrides.

Hydra reads and merges the chosen files, which takes 0.2 s, once per process and choice of files. Options are then set
in a copy of the result, which takes milliseconds.
"""

import os
import pickle
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import IntervalSweep
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from heedful.base.errors import UserError
from heedful.base.files import YAML_LOADER
from heedful.base.formatting import format_names, format_repr
from heedful.base.optional_packages import plugin_install_hint
from heedful.config.keys import CONF, is_within, paths_in, referenced_names
from heedful.config.mistakes import Mistake, did_you_mean, format_mistakes, no_such
from heedful.config.overrides import MAX_JOBS, Override, as_lines, key_of, parse_override, path_of, quote

VERSION_BASE: dict[str, Any] = {"version_base": "1.3"} if hydra.__version__ < "1.4" else {}  # deprecated in 1.4


def job_name(kind: str) -> str | None:
    """Return the name of the current Hydra job; None if there is no job. The files in conf/ write it as ${job:name}.

    Args:
        kind: `command` for the name of the command, such as train; `name` for the name of the job's folder;
            `sweep` for the name of the sweep's folder, which is None in a single run.
    """
    if not HydraConfig.initialized():
        return None
    node = HydraConfig.get()
    folder = Path(node.runtime.output_dir)
    sweep = folder.parent.name if node.mode == RunMode.MULTIRUN else None
    return {"command": str(node.job.name), "name": folder.name, "sweep": sweep}[kind]


# what the files of a command compose in this process, pickled, by the state of all files and by the chosen ones
MERGED: dict[tuple[Any, ...], dict[tuple[str, ...], bytes]] = {}
_register: Any = OmegaConf.register_new_resolver if VERSION_BASE else OmegaConf.register_resolver  # renamed in 1.4
_register("job", job_name, replace=True)


class ConfigFiles:
    """The config files of one command.

    Args:
        command: train, eval, predict or export.
        folder: contains the groups and, unless one of the others does, the primary config.
        search: further folders, as in `hydra.searchpath`. The folder of the primary config is searched first, and those
            that this config names last.
        name: of the primary config; None: the name of the command.
    """

    def __init__(self, command: str, folder: Path = CONF, search: Sequence[str] = (), name: str | None = None) -> None:
        self.command, self.name = command, (name or command).removesuffix(".yaml")
        folders = [folder, *map(config_folder, search)]
        self.folder = next((candidate for candidate in folders if (candidate / f"{self.name}.yaml").is_file()), folder)
        self.primary = self.folder / f"{self.name}.yaml"
        if not self.primary.is_file():
            names = {path.stem for searched in folders for path in searched.glob("*.yaml")}
            raise UserError(f"--config-name={self.name}: {no_such('config', self.name, names)}")
        further = [] if self.folder == CONF else _own_search_path(self.primary)
        self.folders = list(dict.fromkeys([self.folder, *folders, *map(config_folder, further)]))
        others = ",".join(quote(f"file://{path}") for path in self.folders[1:])
        self.searchpath = [f"hydra.searchpath=[{others}]"] if others else []
        self.variables: set[str] = set()  # names to which the files that were checked last refer, as in ${size}
        files = sorted(chain(*(searched.rglob("*.yaml") for searched in self.folders)))
        state = (command, self.name, *self.folders, *((file, file.stat().st_mtime_ns) for file in files))
        self._merged = MERGED.setdefault(state, {})

    @classmethod
    def of(cls, cfg: DictConfig, command: str) -> "ConfigFiles":
        """Return the files from which `cfg`, which includes the node `hydra`, was composed."""
        sources = {source.provider: source.path for source in cfg.hydra.runtime.config_sources}
        node = cfg.hydra
        return cls(command, Path(sources["main"]), list(node.searchpath or ()), node.job.config_name)

    @property
    def arguments(self) -> list[str]:
        """The arguments that select these files on a command line."""
        folder = [] if self.folder == CONF else [f"--config-path={self.folder}"]
        return [*folder, *([] if self.name == self.command else [f"--config-name={self.name}"]), *self.searchpath]

    def file(self, name: str) -> Path | None:
        """Return the path of the file that Hydra reads for the config `name`; None for its own ones."""
        return next(filter(Path.is_file, (folder / f"{name}.yaml" for folder in self.folders)), None)

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The choices of each group, except Hydra's own choices."""
        groups: dict[str, set[str]] = {}
        for folder in self.folders:
            for path in folder.glob("*/**/*.yaml"):
                groups.setdefault(path.parent.relative_to(folder).as_posix(), set()).add(path.stem)
        return {group: sorted(choices) for group, choices in sorted(groups.items())}

    def selected(self, lines: Sequence[str]) -> Iterator[tuple[Path, str]]:
        """Yield the path of each file, except Hydra's own, that valid overrides select, and the node that it sets."""
        with self.initialized() as state:
            loader = state.config_loader()
            defaults = loader.compute_defaults_list(self.name, [*self.searchpath, *lines], RunMode.MULTIRUN).defaults
        for file in defaults:
            if path := self.file(str(file.config_path)):
                yield path, file.package or ""

    @contextmanager
    def initialized(self) -> Iterator[GlobalHydra]:
        """Make Hydra use these files in the block; Hydra's earlier state is restored afterwards."""
        state = GlobalHydra.instance()
        outer, state.hydra = state.hydra, None
        try:
            with hydra.initialize_config_dir(str(self.folder), self.command, **VERSION_BASE):
                yield GlobalHydra.instance()
        finally:
            GlobalHydra.instance().hydra = outer

    def compose(self, lines: Sequence[str], sweeps: bool = False) -> DictConfig:
        cfg, mistakes = self.check(lines, sweeps)
        if mistakes:
            raise UserError(format_mistakes(mistakes))
        return cfg

    def check(self, lines: Sequence[str], sweeps: bool = False) -> tuple[DictConfig, list[Mistake]]:
        """Return the configuration that the correct overrides compose, and the mistakes in the others.

        The configuration includes the node `hydra`; an override with several values gets its first one. If a choice is
        wrong, the options below it are ignored.

        Args:
            sweeps: whether an override may have several values, as with -m.
        """
        chosen: list[Override] = []
        others: list[Override] = []
        mistakes: list[Mistake] = []
        for line in lines:
            try:
                override = parse_override(line, self.groups)
                (chosen if self._is_choice(override) else others).append(override)
            except ValueError as error:
                mistakes.append(Mistake(line, str(error)))
        try:
            cfg = self._merge(chosen)
        except HydraException as error:
            entry = " ".join(override.line for override in chosen) or f"{self.name}.yaml"
            found = list(self._choices_of_others(chosen)) or [Mistake(entry, explain(error, self.groups))]
            raise UserError(format_mistakes([*mistakes, *found])) from error
        sweeps = sweeps or cfg.hydra.mode == RunMode.MULTIRUN
        paths = paths_in(OmegaConf.to_container(cfg, resolve=False))
        self.variables = referenced_names(paths)
        unknown = [path_of(entry) for entry, _ in mistakes]
        others = [override for override in others if not is_within(override.key, unknown)]
        for override in (*chosen, *others):
            try:
                if override in others:
                    self._set(cfg, override, paths)
                _check_sweep(override, cfg, sweeps)
            except (ValueError, OmegaConfBaseException) as error:
                mistakes.append(Mistake(override.line, str(error).splitlines()[0]))
        swept = [override for override in (*chosen, *others) if override.is_sweep]
        is_grid = sweeps and cfg.hydra.sweeper.get("search") is None
        if is_grid and prod(len(override.texts) for override in swept) > MAX_JOBS:
            entry = " ".join(override.line for override in swept)
            mistakes.append(Mistake(entry, f"has more than {MAX_JOBS:,} combinations: choose fewer values"))
        self._record(cfg, lines)
        return cfg, mistakes

    def _record(self, cfg: DictConfig, lines: Sequence[str]) -> None:
        """Write the overrides into the node `hydra`, as Hydra does."""
        of_hydra = [line for line in lines if is_within(path_of(line), ["hydra"])]
        others, form = [line for line in lines if line not in of_hydra], cfg.hydra.job.config.override_dirname
        named = sorted(line for line in others if key_of(line) not in form.exclude_keys)
        with read_write(cfg.hydra):
            cfg.hydra.overrides.hydra, cfg.hydra.overrides.task = [*self.searchpath, *of_hydra], others
            cfg.hydra.job.override_dirname = form.item_sep.join(named).replace("=", form.kv_sep)

    def _is_choice(self, override: Override) -> bool:
        """Return whether an override chooses files; a ValueError says which one does not exist."""
        key, value = override.key, override.value()
        if "/" not in key and (key not in self.groups or isinstance(value, dict)):
            return False
        if key.startswith("hydra/"):
            return True
        if key not in self.groups:
            raise ValueError(no_such("group", key, self.groups))
        for choice in [] if override.parsed.is_delete() else value if isinstance(value, list) else [value]:
            group, _, name = f"{key}/{choice}".rpartition("/")
            if name not in self.groups.get(group, ()):
                if key == "data" and (re.search(r"^[.~/]|\.\w+$", str(choice)) or Path(str(choice)).exists()):
                    raise ValueError(f"is a path: write data=csv data.path={choice}")
                raise ValueError(no_such("choice", choice, self.groups[key]))
        return True

    def _choices_of_others(self, chosen: Sequence[Override]) -> Iterator[Mistake]:
        """Yield the choices of groups that only other commands have; none if the files without them are malformed."""
        with suppress(HydraException):
            cfg = self._merge([])
            for override in chosen:
                is_known = override.key in cfg.hydra.runtime.choices or override.key in cfg  # of a list, such as logger
                if not is_known and not override.parsed.is_add():
                    yield Mistake(override.line, f"{self.command} has no choice of {override.key}: remove it")

    def _merge(self, chosen: Sequence[Override]) -> DictConfig:
        """Return a new copy of the configuration that the chosen files compose.

        A malformed file is a UserError, and choices that do not fit together are a HydraException.
        """
        lines = (*self.searchpath, *(override.with_value(override.texts[0]) for override in chosen))
        if lines not in self._merged:
            try:
                with self.initialized():
                    cfg = hydra.compose(self.name, list(lines), return_hydra_config=True)
            except (yaml.YAMLError, ValueError) as error:
                raise UserError(f"the config files cannot be composed: {error}") from error
            self._merged[lines] = pickle.dumps(cfg)
        copy: DictConfig = pickle.loads(self._merged[lines])  # three times as fast as deepcopy
        with read_write(copy.hydra):
            copy.hydra.runtime.cwd = os.getcwd()  # perhaps another one than before
        return copy

    def _set(self, cfg: DictConfig, override: Override, paths: Mapping[str, Any]) -> None:
        """Set or remove an option as Hydra does; raise a ValueError or OmegaConf's exception if this is impossible."""
        key, value, operation = override.key, override.value(), override.parsed
        parent, _, name = key.rpartition(".")
        adds = operation.is_add() or operation.is_force_add()
        if key not in paths and not adds:  # the schema reports an added name that its class refuses
            names = [path for path in paths if key.startswith("hydra") or not path.startswith("hydra.")]
            group = parent.replace(".", "/")
            files = [file for folder in self.folders for file in (folder / group).glob("*.yaml")] if parent else []
            options = {file.stem: [f"{parent}.{option}" for option in read_options(file)] for file in files}
            choices = sorted(choice for choice in options if key in options[choice])
            names += () if choices else chain(*options.values())
            message = f"no such option{did_you_mean(key, [*names, *self.groups])}"
            if choices and f"{parent}._target_" in paths:
                message = f"is an option of other choices: {format_names(f'{group}={choice}' for choice in choices)}"
            can_add = parent and not operation.is_delete()
            raise ValueError(message + (f"; if its class accepts it, write +{override.line}" if can_add else ""))
        if str(paths.get(key)).startswith("bundled:") and "bundled:" not in str(value):
            raise ValueError("sets another file, but not its columns and classes: add data=csv")
        if operation.is_add() and paths.get(key) is not None and not isinstance(value, dict | list):
            raise ValueError(f"already exists: write {override.line[1:]}")
        if not operation.is_delete():
            OmegaConf.update(cfg, key, value, merge=True, force_add=adds)
        elif parent:
            with open_dict(cfg):
                del OmegaConf.select(cfg, parent)[name]
        else:
            raise ValueError("cannot be removed")


def _own_search_path(primary: Path) -> list[str]:
    """Return the folders that a user's primary config adds; none if it is malformed, which Hydra reports."""
    try:
        found: Any = OmegaConf.select(OmegaConf.create(read_options(primary)), "hydra.searchpath")
    except (yaml.YAMLError, ValueError, OmegaConfBaseException):
        return []
    return [str(url) for url in found] if isinstance(found, ListConfig) else []


def config_folder(url: str) -> Path:
    """Return the folder that an entry of `hydra.searchpath` names: a path, with or without file://, or pkg://a.b."""
    scheme, _, name = url.rpartition("://")
    folder = Path(name).expanduser().absolute()
    if scheme == "pkg":
        try:
            spec = find_spec(name.replace("/", "."))
        except ModuleNotFoundError:  # of a package above it
            spec = None
        folder = Path(next(iter(spec.submodule_search_locations or ()), name)) if spec else Path(name)
    if scheme not in ("", "file", "pkg") or not folder.is_dir():
        raise UserError(f"--config-dir, --config-path or hydra.searchpath: {url}: no such folder")
    return folder


def divide_search(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the folders that overrides of `hydra.searchpath` name, and the other overrides."""
    search = list[str]()
    for line in [line for line in lines if key_of(line) == "hydra.searchpath"]:
        try:
            folders = parse_override(line, {}).value()
        except ValueError:
            folders = None
        if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
            raise UserError(format_mistakes([Mistake(line, "must be a list of folders: hydra.searchpath=[…,…]")]))
        search += folders
    return search, [line for line in lines if key_of(line) != "hydra.searchpath"]


def require_overrides(lines: Iterable[object]) -> None:
    """Raise a UserError if what a program gives as overrides is something else, such as a flag or a list."""
    if wrong := [line for line in lines if not isinstance(line, str) or line.startswith("-")]:
        raise UserError(
            f"{format_repr(wrong[0])}: is not an override such as 'optimizer.lr=0.01' or 'hydra.searchpath=[my_conf]', "
            "a folder as of --config-dir; sweeps (-m) need the command"
        )


def compose(*overrides: str | Sequence[str]) -> DictConfig:
    """Return the configuration of a training, for a script: `compose("model/attention=multi_head", "seed=3")`.

    Its node `choices` has the choice of each group, for the checkpoints.
    """
    from heedful.config.schema import validate_config

    require_overrides(given := as_lines(overrides))
    search, lines = divide_search(given)
    composed = ConfigFiles("train", search=search).compose(["paths.output_dir=.", *lines])
    cfg = without_hydra(composed)
    validate_config(cfg)
    with open_dict(cfg):
        cfg.choices = composed.hydra.runtime.choices
    return cfg


def without_hydra(cfg: DictConfig) -> DictConfig:
    """Return a copy of a composed configuration without the node `hydra`, as Hydra passes it to a task."""
    task = OmegaConf.masked_copy(cfg, [str(key) for key in cfg if key != "hydra"])
    OmegaConf.set_struct(task, True)
    return task


def _check_sweep(override: Override, cfg: DictConfig, sweeps: bool) -> None:
    """Raise a ValueError if an override must not have several values, or an interval without a search."""
    if override.is_sweep and not sweeps:
        quoted = shlex.quote(override.with_value(quote(override.line.partition("=")[2])))
        raise ValueError(f"has several values: add -m to run each value, or write a list in [ ] or a text: {quoted}")
    if override.is_sweep and is_within(path_of(override.line), ["hydra"]):
        raise ValueError("has several values, but an option of Hydra is the same for all jobs: choose one of them")
    is_grid = cfg.hydra.sweeper.get("search", ...) is None  # by Heedful's sweeper
    if is_grid and isinstance(override.parsed.value(), IntervalSweep):
        remedy = "add hparams_search=optuna, or list values: a,b,c"
        raise ValueError(f"is an interval, which only a search can sample: {remedy}")


def explain(error: HydraException, groups: Mapping[str, Sequence[str]]) -> str:
    """Describe an error of Hydra in one line; `groups` are the choices by group."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        hints = {"hydra/launcher": plugin_install_hint(name), "hydra/sweeper": "a search is hparams_search=optuna"}
        hint = f"; {hints[group]}" if group in hints else ""
        if choices := error.options or groups.get(group):
            return f"{group}={name}: {no_such('choice', name, choices)}{hint}"
    return ": ".join(str(part).splitlines()[0] for part in (error, error.__cause__) if str(part or ""))


def read_options(path: Path) -> dict[str, Any]:
    """Return the content of a config file; empty if there is no such file."""
    return (yaml.load(path.read_bytes(), YAML_LOADER) or {}) if path.is_file() else {}
