"""Compose the configuration of a command from config files and overrides, and find every wrong name in the overrides.

Hydra reads and merges the chosen files, which takes 0.2 s, once per process and choice of files. Options are then set
in a copy of the result, which takes milliseconds.
"""

import pickle
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import hydra
import yaml
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, IntervalSweep
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from src.config.jobs import job_folder, job_name
from src.config.keys import is_within, key_of, paths_in
from src.config.mistakes import Mistake, format_mistakes
from src.config.quoting import quote
from src.errors import UserError
from src.extras import plugin_install_hint
from src.files import YAML_LOADER
from src.misspellings import did_you_mean, no_such

CONF = Path(__file__).resolve().parents[2] / "conf"
VERSION_BASE: dict[str, Any] = {"version_base": "1.3"} if hydra.__version__ < "1.4" else {}  # deprecated in 1.4
MAX_JOBS = 10_000

_register: Any = OmegaConf.register_new_resolver if VERSION_BASE else OmegaConf.register_resolver  # renamed in 1.4
_register("job_folder", job_folder, replace=True)
_register("job", job_name, replace=True)


class Override(NamedTuple):
    """An override of the command line; `texts` holds its value as typed, or each value of a sweep."""

    line: str
    prefix: str  # +, ++, ~ or empty
    key: str  # a group or the dotted path of an option
    package: str  # @package for group@package=choice, otherwise empty
    texts: list[str]
    is_sweep: bool  # a,b, a range, an interval or a pattern
    is_interval: bool  # only a search can sample from it; `texts` holds its start

    def with_value(self, text: str) -> str:
        """Return the override with the value `text`, written in Hydra's grammar; `~key` has no value."""
        value = f"={text}" if text or self.prefix != "~" else ""
        return f"{self.prefix}{self.key}{self.package}{value}"

    def value(self, number: int = 0) -> Any:
        """Return one of the values."""
        return OverridesParser.create().parse_override(f"key={self.texts[number]}").value()


class ConfigFiles:
    """The config files of one command.

    Args:
        command: train, eval, predict or export.
        name: name of the primary config; by default the name of the command.
        folder: contains the primary config and the groups.
        search: URLs of further folders, as in `hydra.searchpath`.
    """

    def __init__(self, command: str, name: str | None = None, folder: Path = CONF, search: Sequence[str] = ()) -> None:
        self.command, self.folder, self.search = command, folder, list(search)
        self.name = (name or command).removesuffix(".yaml")
        self.folders = [folder, *(Path(url.removeprefix("file://")).absolute() for url in search)]
        if missing := [path for path in self.folders if not path.is_dir()]:
            raise UserError(f"--config-dir or hydra.searchpath: {missing[0]}: no such folder")
        self.searchpath = [f"hydra.searchpath=[{','.join(map(quote, search))}]"] if search else []
        self._merged: dict[tuple[str, ...], bytes] = {}

    @classmethod
    def of(cls, cfg: DictConfig) -> "ConfigFiles":
        """Return the files from which `cfg`, which includes the node `hydra`, was composed."""
        sources = {source.provider: source.path for source in cfg.hydra.runtime.config_sources}
        node = cfg.hydra
        return cls(node.job.name, node.job.config_name, Path(sources["main"]), list(node.searchpath or ()))

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
            paths = (folder / f"{file.config_path}.yaml" for folder in self.folders)
            if path := next(filter(Path.is_file, paths), None):
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
        """Compose a configuration as `check` does."""
        cfg, mistakes = self.check(lines, sweeps)
        if mistakes:
            raise UserError(format_mistakes(mistakes))
        return cfg

    def check(self, lines: Sequence[str], sweeps: bool = False) -> tuple[DictConfig, list[Mistake]]:
        """Return the configuration that the correct overrides compose, and the mistakes in the others.

        The configuration includes the node `hydra`; an override with several values gets its first one. If a choice is
        wrong, the options below it are ignored.

        Args:
            lines: overrides.
            sweeps: whether an override may have several values, as with -m.
        """
        overrides: dict[str, Override] = {}
        mistakes: list[Mistake] = []
        for line in lines:
            try:
                overrides[line] = self.parse(line)
            except ValueError as error:
                mistakes.append(Mistake(line, str(error)))
        chosen = [override for override in overrides.values() if self._is_choice(override)]
        try:
            cfg = self._merge(chosen)
        except HydraException as error:
            wrong = [override for override in chosen if self._wrong_choice(override)]
            if not wrong:
                entry = " ".join(override.line for override in chosen) or f"{self.name}.yaml"
                raise UserError(format_mistakes([*mistakes, Mistake(entry, explain(error, self.groups))])) from error
            mistakes += [Mistake(override.line, str(self._wrong_choice(override))) for override in wrong]
            unknown = [override.key.replace("/", ".") for override in wrong]
            correct = [line for line in overrides if overrides[line] not in wrong]
            cfg, others = self.check([line for line in correct if not is_within(_dotted(line), unknown)], sweeps)
            return cfg, mistakes + others
        paths = paths_in(OmegaConf.to_container(cfg, resolve=False))
        for override in overrides.values():
            if override not in chosen and (message := self._set(cfg, override, paths)):
                mistakes.append(Mistake(override.line, message))
        sweeps = sweeps or cfg.hydra.mode == RunMode.MULTIRUN
        return cfg, mistakes + _wrong_sweeps([*overrides.values()], cfg, sweeps)

    def parse(self, line: str) -> Override:
        """Parse an override; raise a ValueError if it is malformed."""
        typed, _, text = line.partition("=")
        texts = [text]
        try:
            parsed = OverridesParser.create().parse_override(line)
            value: Any = parsed.value()
            if isinstance(value, IntervalSweep):
                texts = [str(value.start)]
            elif isinstance(value, Glob):
                texts = value.filter(self.groups.get(parsed.key_or_group, []))
            elif parsed.is_sweep_override():
                texts = list(islice(parsed.sweep_string_iterator(), MAX_JOBS + 1))
        except (HydraException, ValueError) as error:
            remedy = f"write key=value; if it is text, quote it: {shlex.quote(f'{typed}={quote(text)}')}"
            raise ValueError(f"cannot be parsed ({str(error).splitlines()[0]}): {remedy}") from error
        if not texts:
            raise ValueError("has no values: a range needs a stop beyond its start, and a pattern must match a choice")
        prefix = typed.removesuffix(typed.lstrip("+~"))
        package = "" if parsed.package is None else f"@{parsed.package}"
        is_sweep, is_interval = parsed.is_sweep_override(), isinstance(value, IntervalSweep)
        return Override(line, prefix, parsed.key_or_group, package, texts, is_sweep, is_interval)

    def _is_choice(self, override: Override) -> bool:
        """Return whether an override chooses files of a group, in contrast to `group={option: value}`."""
        return "/" in override.key or (override.key in self.groups and not isinstance(override.value(), dict))

    def _wrong_choice(self, override: Override) -> str | None:
        """Return the message about an override that cannot be composed even without others."""
        try:
            self._merge([override])
        except HydraException as error:
            message = explain(error, self.groups).removeprefix(f"{override.line}: ")
            return message + ("" if override.key in self.groups else did_you_mean(override.key, self.groups))
        return None

    def _merge(self, chosen: Sequence[Override]) -> DictConfig:
        """Return a new copy of the configuration that the chosen files compose.

        Raises:
            HydraException: if the choices do not fit together.
            UserError: if a file is malformed.
        """
        lines = (*self.searchpath, *(override.with_value(override.texts[0]) for override in chosen))
        if lines not in self._merged:
            try:
                with self.initialized():
                    cfg = hydra.compose(self.name, list(lines), return_hydra_config=True)
            except yaml.YAMLError as error:
                raise UserError(f"a config file cannot be read: {error}") from error
            except ValueError as error:  # a choice that is no text, or bytes of a file that are none
                raise HydraException(str(error)) from None
            except TypeError:  # Hydra searches each choice of a list for references
                raise HydraException("must be the name of a file, or a list of names in [ ]") from None
            self._merged[lines] = pickle.dumps(cfg)
        copy: DictConfig = pickle.loads(self._merged[lines])  # three times as fast as deepcopy
        return copy

    def _set(self, cfg: DictConfig, override: Override, paths: Mapping[str, Any]) -> str | None:
        """Set or remove an option as Hydra does; return the message of an error.

        Args:
            paths: the values in `cfg` by dotted path.
        """
        prefix, key, value = override.prefix, override.key, override.value()
        if key not in paths and prefix not in ("+", "++"):  # the schema reports an added name that its class refuses
            names = [path for path in paths if key.startswith("hydra") or not path.startswith("hydra.")]
            node = key.rpartition(".")[0]
            files = self.folder.glob(f"{node.replace('.', '/')}/*.yaml") if node else ()  # all choices of the group
            options = {f"{node}.{name}" for file in files for name in read_options(file)}
            names += options if key not in options else ()
            remedy = f"; if its class accepts it, write +{override.line}" if "." in key and prefix == "" else ""
            return f"no such option{did_you_mean(key, [*names, *self.groups])}{remedy}"
        if prefix == "+" and paths.get(key) is not None and not isinstance(value, dict | list):
            return f"already exists: write {override.line[1:]}"
        if prefix == "~" and "." not in key:
            return "cannot be removed"
        try:
            if prefix == "~":
                parent, _, name = key.rpartition(".")
                with open_dict(cfg):
                    del OmegaConf.select(cfg, parent)[name]
            else:
                OmegaConf.update(cfg, key, value, merge=True, force_add=prefix != "")
        except OmegaConfBaseException as error:
            return str(error).splitlines()[0]
        return None


def without_hydra(cfg: DictConfig) -> DictConfig:
    """Return a copy of a composed configuration without the node `hydra`, as Hydra passes it to a task."""
    task: DictConfig = pickle.loads(pickle.dumps(cfg))
    with read_write(task), open_dict(task):
        del task["hydra"]
    return task


def combinations(overrides: Iterable[Override]) -> Iterator[list[str]]:
    """Yield the overrides of each job of a sweep: every combination of the values."""
    columns = [[override.with_value(text) for text in override.texts] for override in overrides]
    yield from map(list, product(*columns))


def _wrong_sweeps(overrides: Sequence[Override], cfg: DictConfig, sweeps: bool) -> list[Mistake]:
    """Find overrides with several values in a single run, intervals in a sweep without a search, and huge sweeps."""
    search = cfg.hydra.sweeper.get("search", ...)  # None in Heed's sweeper without a search
    swept = [override for override in overrides if override.is_sweep]
    mistakes = []
    for override in swept:
        if not sweeps:
            quoted = shlex.quote(override.with_value(quote(override.line.partition("=")[2])))
            message = f"has several values: add -m to run each value, or write a list in [ ] or a text: {quoted}"
            mistakes.append(Mistake(override.line, message))
        elif override.is_interval and search is None:
            remedy = "add hparams_search=optuna, or list values: a,b,c"
            mistakes.append(Mistake(override.line, f"is an interval, which only a search can sample: {remedy}"))
    if sweeps and search in (None, ...) and prod(len(override.texts) for override in swept) > MAX_JOBS:
        message = f"has more than {MAX_JOBS:,} combinations, the limit of a sweep: choose fewer values"
        mistakes.append(Mistake(" ".join(override.line for override in swept), message))
    return mistakes


def explain(error: HydraException, groups: Mapping[str, Sequence[str]]) -> str:
    """Describe an error of Hydra in one line; `groups` are the choices by group."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        hint = f"; {plugin_install_hint(name)}" if group in ("hydra/launcher", "hydra/sweeper") else ""
        if choices := error.options or groups.get(group):
            return f"{group}={name}: {no_such('choice', name, choices)}{hint}"
    return ": ".join(str(part).splitlines()[0] for part in (error, error.__cause__) if str(part or ""))


def read_options(path: Path) -> dict[str, Any]:
    """Return the content of a config file; empty if there is no such file."""
    return (yaml.load(path.read_bytes(), YAML_LOADER) or {}) if path.is_file() else {}


def _dotted(line: str) -> str:
    return key_of(line).replace("/", ".")
