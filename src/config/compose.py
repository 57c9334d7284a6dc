"""Compose the configuration of a command from config files and overrides, and find every wrong name in the overrides.

Hydra reads and merges the chosen files, which takes 0.2 s, once per process and choice of files. Options are then set
in a copy of the result, which takes milliseconds.
"""

import pickle
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, islice, product
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
from src.config.keys import is_within, paths_in
from src.config.mistakes import Mistake, format_mistakes
from src.config.quoting import quote
from src.errors import UserError
from src.extras import plugin_install_hint
from src.files import YAML_LOADER
from src.misspellings import nearest, no_such, no_such_choice

CONF = Path(__file__).resolve().parents[2] / "conf"
VERSION_BASE: dict[str, Any] = {"version_base": "1.3"} if hydra.__version__ < "1.4" else {}  # deprecated in 1.4
MAX_JOBS = 10_000
KEY = re.compile(r"[a-zA-Z_][\w-]*((\.[\w-]+)*|(/[\w-]+)*(@[\w.:-]+)?)", re.ASCII)

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
    is_sweep: bool = False  # a,b, a range, an interval or a pattern
    is_interval: bool = False  # only a search can sample from it; `texts` holds its start

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
        self.folders = [folder, *map(_folder, search)]  # in order of precedence
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
            for path in folder.rglob("*.yaml"):
                groups.setdefault(path.parent.relative_to(folder).as_posix(), set()).add(path.stem)
        return {group: sorted(choices) for group, choices in sorted(groups.items()) if group != "."}

    def choices(self, group: str) -> list[str]:
        """Return the choices of a group, which may be one of Hydra's own; none if there is no such group."""
        choices = set(self.groups.get(group, ()))
        if group.startswith("hydra/"):
            with self.initialized() as state:
                choices |= set(state.config_loader().get_group_options(group))
        return sorted(choices)

    @property
    def searchpath(self) -> list[str]:
        """The override that adds the further folders."""
        return [f"hydra.searchpath=[{','.join(map(quote, self.search))}]"] if self.search else []

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
        """Compose a configuration, which includes the node `hydra`; an override of a sweep gets its first value.

        Args:
            lines: overrides.
            sweeps: whether an override may have several values, as with -m.

        Raises:
            UserError: if an override is wrong, or a config file cannot be read; the message lists all wrong overrides.
        """
        cfg, mistakes = self.check(lines, sweeps)
        if mistakes:
            raise UserError(format_mistakes(mistakes))
        return cfg

    def check(self, lines: Sequence[str], sweeps: bool = False) -> tuple[DictConfig, list[Mistake]]:
        """Return the configuration that the correct overrides compose, and the mistakes in the others."""
        overrides: list[Override] = []
        mistakes: list[Mistake] = []
        for line in lines:
            try:
                overrides.append(self.parse(line))
            except ValueError as error:
                mistakes.append(Mistake(line, str(error)))
        chosen, unknown = list(self.searchpath), []
        options = [override for override in overrides if not self._is_choice(override)]
        for override in [override for override in overrides if override not in options]:
            wrong, valid = self._check_choice(override)
            mistakes += wrong
            chosen += valid[:1]
            unknown += [] if valid else [f"{override.key.replace('/', '.')}."]
        try:
            cfg = self._merge(tuple(chosen))
        except HydraException as error:
            entry = " ".join(chosen[len(self.searchpath) :]) or f"{self.name}.yaml"
            raise UserError(format_mistakes([*mistakes, Mistake(entry, explain(error))])) from error
        paths = paths_in(OmegaConf.to_container(cfg, resolve=False))
        for override in options:
            if not override.key.startswith(tuple(unknown)):
                message = self._wrong_key(override, paths) or _set(cfg, override)
                mistakes += [Mistake(override.line, message)] if message else []
        mistakes += _wrong_sweeps(overrides, cfg, sweeps or cfg.hydra.mode == RunMode.MULTIRUN)
        for name, is_hydra in (("hydra", True), ("task", False)):  # as Hydra records them
            own = [
                line
                for line in [*self.searchpath, *lines]
                if line.lstrip("+~").startswith(("hydra.", "hydra/")) == is_hydra
            ]
            cfg.hydra.overrides[name] = own
        return cfg, mistakes

    def parse(self, line: str) -> Override:
        """Parse an override.

        Raises:
            ValueError: if its value is missing or malformed.
        """
        typed, equals, text = line.partition("=")
        name = typed.lstrip("+~")
        try:
            parsed = OverridesParser.create().parse_override(line)
            package = "" if parsed.package is None else f"@{parsed.package}"
            override = Override(line, typed.removesuffix(name), parsed.key_or_group, package, [text])
            if not parsed.is_sweep_override():
                return override
            value: Any = parsed.value()
            if isinstance(value, IntervalSweep):
                return override._replace(texts=[str(value.start)], is_sweep=True, is_interval=True)
            found = value.filter(self.choices(override.key)) if isinstance(value, Glob) else None
            texts = list(islice(parsed.sweep_string_iterator(), MAX_JOBS + 1)) if found is None else list(found)
        except (HydraException, ValueError) as error:
            if not equals:
                raise ValueError(f"has no value: write {line}=…") from error
            if not KEY.fullmatch(name):
                raise ValueError("cannot be parsed: write option.of.node=value or group/of/files=choice") from error
            reason = str(error).splitlines()[0].partition(" while evaluating ")[2]
            remedy = f"if the value is text, quote it: {shlex.quote(f'{typed}={quote(text)}')}"
            raise ValueError(f"cannot be parsed{f' ({reason})' if reason else ''}; {remedy}") from error
        if not texts:
            raise ValueError("has no values: a range needs a stop beyond its start, and a pattern must match a choice")
        return override._replace(texts=texts, is_sweep=True)

    def _is_choice(self, override: Override) -> bool:
        """Return whether an override chooses files of a group, in contrast to `group={option: value}`."""
        return bool(self.choices(override.key)) and not isinstance(override.value(), dict)

    def _check_choice(self, override: Override) -> tuple[list[Mistake], list[str]]:
        """Check an override that chooses files.

        Returns:
            The mistakes; and an override for each value, with the nearest choice in place of a wrong one.
        """
        if override.prefix == "~":
            return [], [override.line]
        choices, is_plugin = self.choices(override.key), override.key in ("hydra/launcher", "hydra/sweeper")
        mistakes, valid = [], []
        for value in map(override.value, range(len(override.texts))):
            names = ["null" if name is None else str(name) for name in (value if isinstance(value, list) else [value])]
            for number, name in enumerate(names):
                folder, _, file = f"{override.key}/{name}".rpartition("/")  # experiment=mine/first is in a subfolder
                removes = value is None and "none" not in choices
                if file.removesuffix(".yaml") not in self.choices(folder) and not removes:
                    message = no_such_choice(name, choices) + (f"; {plugin_install_hint(name)}" if is_plugin else "")
                    mistakes.append(Mistake(override.with_value(name), message))
                    names[number] = "".join(nearest(name, choices)[:1])
            if all(names):
                text = ",".join(names)
                valid.append(override.with_value(f"[{text}]" if isinstance(value, list) else text))
        return mistakes, valid

    def _merge(self, chosen: tuple[str, ...]) -> DictConfig:
        """Return a new copy of the configuration that the chosen files compose.

        Raises:
            HydraException: if the choices do not fit together.
            UserError: if a file cannot be read.
        """
        if chosen not in self._merged:
            try:
                with self.initialized():
                    cfg = hydra.compose(self.name, list(chosen), return_hydra_config=True)
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                raise UserError(f"a config file cannot be read: {error}") from error
            self._merged[chosen] = pickle.dumps(cfg)
        copy: DictConfig = pickle.loads(self._merged[chosen])  # three times as fast as deepcopy
        return copy

    def _wrong_key(self, override: Override, paths: Mapping[str, Any]) -> str | None:
        """Return the message about a key that does not fit the configuration with the values `paths`."""
        key, value = override.key, override.value()
        typed = override.line.lstrip("+~").partition("=")[0].replace("/", ".")
        if (group := key.replace(".", "/")) in self.groups and override.prefix != "~" and not isinstance(value, dict):
            return f"is a group: write {group}={override.texts[0]}, with one of {', '.join(self.groups[group])}"
        if key not in paths:
            if typed in paths:
                return f"is an option and needs dots: write {override.with_value(override.texts[0]).replace('/', '.')}"
            is_new = override.prefix in ("+", "++")  # the schema reports a name that its class does not accept
            return None if is_new else self._unknown_key(typed, override, paths)
        if override.prefix == "+" and paths[key] is not None and not isinstance(value, dict | list):
            return f"already exists: write {override.line[1:]}"
        return "cannot be removed" if override.prefix == "~" and "." not in key else None

    def _unknown_key(self, typed: str, override: Override, paths: Mapping[str, Any]) -> str:
        names = {path: path for path in paths if typed.startswith("hydra") or not path.startswith("hydra.")}
        names |= {group.replace("/", "."): group for group in self.groups}
        similar = nearest(typed, [name for name in names if not is_within(typed, [name])], 0.8 if "." in typed else 0.6)
        message = no_such("group" if "/" in override.key else "option", [names[name] for name in similar])
        parents = [path for path in accumulate(typed.split("."), "{}.{}".format) if path in paths] or [""]
        node = paths.get(parents[-1])
        if override.prefix != "~" and (node == {} or (isinstance(node, dict) and "_target_" in node)):
            owner = str(node.get("_target_", parents[-1])).rpartition(".")[2]
            return f"{message}{' T' if similar else '; t'}o add an option that {owner} accepts, write +{override.line}"
        return message


def without_hydra(cfg: DictConfig) -> DictConfig:
    """Return a copy of a composed configuration without the node `hydra`, as Hydra passes it to a task."""
    task: DictConfig = pickle.loads(pickle.dumps(cfg))
    with read_write(task), open_dict(task):
        del task["hydra"]
    return task


def read_options(path: Path) -> dict[str, Any]:
    """Return the content of a config file; an empty dict if it cannot be read, which is reported when it is chosen."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), YAML_LOADER)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}


def combinations(overrides: Iterable[Override]) -> Iterator[list[str]]:
    """Yield the overrides of each job of a sweep: every combination of the values."""
    columns = [[override.with_value(text) for text in override.texts] for override in overrides]
    yield from map(list, product(*columns))


def _folder(url: str) -> Path:
    folder = Path(url.removeprefix("file://")).absolute()
    if not folder.is_dir():
        raise UserError(f"--config-dir or hydra.searchpath: {url}: no such folder")
    return folder


def _set(cfg: DictConfig, override: Override) -> str | None:
    """Set or remove an option as Hydra does; return the message of an error."""
    parent, _, name = override.key.rpartition(".")
    try:
        if override.prefix == "~":
            with open_dict(cfg):
                del (OmegaConf.select(cfg, parent) if parent else cfg)[name]
        else:
            is_new = override.prefix in ("+", "++")
            OmegaConf.update(cfg, override.key, override.value(), merge=True, force_add=is_new)
    except OmegaConfBaseException as error:
        return str(error).splitlines()[0]
    return None


def _wrong_sweeps(overrides: Sequence[Override], cfg: DictConfig, sweeps: bool) -> Iterator[Mistake]:
    """Find overrides with several values in a single run, intervals in a sweep without a search, and huge sweeps."""
    search = cfg.hydra.sweeper.get("search", ...)  # None in Heed's sweeper without a search
    for override in overrides:
        value = override.line.partition("=")[2]
        if override.is_sweep and not sweeps:
            texts = override.with_value(f"[{value}]"), shlex.quote(override.with_value(quote(value)))
            yield Mistake(override.line, f"has several values: add -m to run each value, or write {' or '.join(texts)}")
        elif override.is_interval and search is None:
            remedy = "add hparams_search=optuna, or list values: a,b,c"
            yield Mistake(override.line, f"is an interval, which only a search can sample: {remedy}")
    jobs = prod(len(override.texts) for override in overrides)
    if sweeps and jobs > MAX_JOBS and not cfg.hydra.sweeper.get("search"):
        swept = " ".join(override.line for override in overrides if override.is_sweep)
        yield Mistake(swept, f"has more than {MAX_JOBS:,} combinations, the limit of a sweep: choose fewer values")


def explain(error: HydraException) -> str:
    """Describe an error of Hydra in one line."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return f"{group}={name}: {no_such_choice(name, list(error.options))}"
    return ": ".join(str(part).splitlines()[0] for part in (error, error.__cause__) if str(part or ""))
