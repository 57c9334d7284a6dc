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
from importlib.resources import files as package_files
from importlib.util import find_spec
from itertools import accumulate, product
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
from src.config.keys import paths_in
from src.config.mistakes import Mistake, format_mistakes
from src.config.quoting import quote
from src.errors import UserError
from src.extras import plugin_install_hint
from src.formatting import format_names, format_value
from src.misspellings import did_you_mean, nearest, no_such, no_such_choice

CONF = Path(__file__).resolve().parents[2] / "conf"
VERSION_BASE: dict[str, Any] = {"version_base": "1.3"} if hydra.__version__ < "1.4" else {}  # deprecated in 1.4
YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # not every PyYAML has the faster C loader
PLUGINS = ("hydra/launcher", "hydra/sweeper")

_register: Any = OmegaConf.register_new_resolver if VERSION_BASE else OmegaConf.register_resolver  # renamed in 1.4
_register("job_folder", job_folder, replace=True)
_register("job", job_name, replace=True)


class Override(NamedTuple):
    """An override of the command line.

    Args:
        line: the override as typed.
        prefix: `+`, `++`, `~` or empty.
        key: a group or the dotted path of an option; a malformed key is kept as typed.
        package: `@package` for `group@package=choice`, otherwise empty.
        texts: the value as typed, or each value of a sweep; the start of an interval.
        is_sweep: whether the override has several values: `a,b`, a range, an interval or a pattern.
        is_interval: whether the override is an interval, from which only a search can sample.
    """

    line: str
    prefix: str
    key: str
    package: str
    texts: list[str]
    is_sweep: bool = False
    is_interval: bool = False

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

    Raises:
        UserError: if there is no primary config with this name.
    """

    def __init__(self, command: str, name: str | None = None, folder: Path = CONF, search: Sequence[str] = ()) -> None:
        self.command, self.folder, self.search = command, folder, list(search)
        self.name = (name or command).removesuffix(".yaml")
        self._merged: dict[tuple[str, ...], bytes] = {}
        primary = sorted({path.stem for folder in self.folders for path in folder.glob("*.yaml")})
        if self.name not in primary:
            meant = did_you_mean(nearest(self.name, primary))
            raise UserError(f"{folder} has no config named {self.name}{meant} ({', '.join(primary)})")

    @classmethod
    def of(cls, cfg: DictConfig) -> "ConfigFiles":
        """Return the files from which `cfg`, which includes the node `hydra`, was composed."""
        sources = {source.provider: source.path for source in cfg.hydra.runtime.config_sources}
        node = cfg.hydra
        return cls(node.job.name, node.job.config_name, Path(sources["main"]), list(node.searchpath or ()))

    @cached_property
    def folders(self) -> list[Path]:
        """The folders that are searched for config files, in order of precedence."""
        return [self.folder, *map(_folder, self.search)]

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The choices of each group, except Hydra's own groups; a group that contains only groups has no choices."""
        groups: dict[str, set[str]] = {}
        for folder in self.folders:
            for path in folder.rglob("*.yaml"):
                inner, *outer = path.relative_to(folder).parents
                groups.setdefault(inner.as_posix(), set()).add(path.stem)
                for parent in outer:
                    groups.setdefault(parent.as_posix(), set())
        return {group: sorted(choices) for group, choices in sorted(groups.items()) if group != "."}

    def choices(self, group: str) -> list[str] | None:
        """Return the choices of a group, which may be one of Hydra's own; None if there is no such group."""
        choices = set(self.groups.get(group, ()))
        if group.startswith("hydra/"):
            with self.initialized() as state:
                choices |= set(state.config_loader().get_group_options(group))
        return sorted(choices) if choices or group in self.groups else None

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
        for override in filter(self._is_choice, overrides):
            wrong, valid = self._check_choice(override)
            mistakes += wrong
            chosen += valid[:1]
            if not valid and self.choices(override.key):
                unknown.append(f"{override.key.replace('/', '.')}.")
        cfg, wrong = self._merge_valid(chosen)
        mistakes += wrong
        plain: Any = OmegaConf.to_container(cfg, resolve=False)
        paths = paths_in(plain)
        for override in overrides:
            if not self._is_choice(override) and not override.key.startswith(tuple(unknown)):
                message = self._wrong_key(override, paths) or _set(cfg, override)
                mistakes += [Mistake(override.line, message)] if message else []
        sweeps = sweeps or cfg.hydra.mode == RunMode.MULTIRUN
        mistakes += _wrong_sweeps(overrides, cfg, sweeps)
        _record(cfg, lines)
        return cfg, mistakes

    def parse(self, line: str) -> Override:
        """Parse an override.

        Raises:
            ValueError: if its value is missing or malformed.
        """
        typed, equals, text = line.partition("=")
        name = typed.lstrip("+~")
        prefix = typed.removesuffix(name)
        try:
            parsed = OverridesParser.create().parse_override(line)
            package = "" if parsed.package is None else f"@{parsed.package}"
            override = Override(line, prefix, parsed.key_or_group, package, [text], parsed.is_sweep_override())
            if not override.is_sweep:
                return override
            value: Any = parsed.value()
            if isinstance(value, IntervalSweep):
                return override._replace(texts=[str(value.start)], is_interval=True)
            found = value.filter(self.choices(override.key) or []) if isinstance(value, Glob) else None
            texts = list(parsed.sweep_string_iterator() if found is None else found)
        except (HydraException, ValueError) as error:
            try:
                quoted = f"{typed}={quote(text)}"
                OverridesParser.create().parse_override(quoted)
            except HydraException:  # the key is malformed; it is reported with a suggestion
                return Override(line, prefix, name, "", [quote(text)])
            if not equals:
                raise ValueError(f"has no value: write {line}=…") from error
            reason = str(error).splitlines()[0].partition(" while evaluating ")[2]
            remedy = f"if it is text, quote it: {shlex.quote(quoted)}"
            raise ValueError(f"cannot be parsed{f' ({reason})' if reason else ''}; {remedy}") from error
        if not texts:
            raise ValueError("has no values: a range needs a stop beyond its start, and a pattern must match a choice")
        return override._replace(texts=texts)

    def path(self, name: str) -> Path | None:
        """Return the path of a config file, such as data/imdb; None if it does not exist or is one of Hydra's own."""
        return next((path for folder in self.folders if (path := folder / f"{name}.yaml").is_file()), None)

    @property
    def searchpath(self) -> list[str]:
        """The override that adds the further folders."""
        return [f"hydra.searchpath=[{','.join(map(quote, self.search))}]"] if self.search else []

    def _is_choice(self, override: Override) -> bool:
        """Return whether an override chooses files of a group, in contrast to `group={option: value}`."""
        return self.choices(override.key) is not None and not isinstance(override.value(), dict)

    def _check_choice(self, override: Override) -> tuple[list[Mistake], list[str]]:
        """Check an override that chooses files.

        Returns:
            The mistakes; and an override for each value, with the nearest choice in place of a wrong one.
        """
        choices = self.choices(override.key)
        if not choices:
            inner = [group for group in self.groups if group.startswith(f"{override.key}/")]
            return [Mistake(override.line, f"is a folder of groups; its groups are {format_names(inner)}")], []
        if override.prefix == "~":
            return [], [override.line]
        mistakes, valid = [], []
        for number, text in enumerate(override.texts):
            value = override.value(number)
            names = value if isinstance(value, list) else [value]
            wrong = [name for name in names if not self._exists(override.key, name)]
            for name in wrong:
                hint = f"; {plugin_install_hint(name)}" if override.key in PLUGINS else ""
                message = no_such_choice("none" if name is None else name, choices) + hint
                mistakes.append(Mistake(override.with_value(format_value(name)), message))
            meant = [near for name in names for near in (nearest(str(name), choices) if name in wrong else [str(name)])]
            if wrong and meant:
                text = f"[{','.join(meant)}]" if isinstance(value, list) else meant[0]
            if meant or not wrong:
                valid.append(override.with_value(text))
        return mistakes, valid

    def _exists(self, group: str, name: object) -> bool:
        """Return whether a choice exists in a group or in a subfolder of the group, as in `experiment=mine/first`."""
        if name is None:  # removes the choice
            return "none" not in (self.choices(group) or ())
        folder, _, file = f"{group}/{name}".rpartition("/")
        return isinstance(name, str) and file.removesuffix(".yaml") in (self.choices(folder) or ())

    def _merge_valid(self, chosen: Sequence[str]) -> tuple[DictConfig, list[Mistake]]:
        """Merge the chosen files; if that fails, find the overrides at fault by merging once more for each override."""
        try:
            return self._merge(tuple(chosen)), []
        except HydraException:
            pass
        valid: list[str] = []
        mistakes = []
        for line in ("", *chosen):
            lines = [*valid, line] if line else []
            try:
                self._merge(tuple(lines))
                valid = lines
            except HydraException as error:
                if not line:
                    raise UserError(explain(error)) from error
                mistakes.append(Mistake(line, explain(error)))
        return self._merge(tuple(valid)), mistakes

    def _merge(self, chosen: tuple[str, ...]) -> DictConfig:
        """Return a new copy of the configuration that the chosen files compose."""
        if chosen not in self._merged:
            try:
                with self.initialized():
                    cfg = hydra.compose(self.name, list(chosen), return_hydra_config=True)
            except ValueError as error:
                if isinstance(error, UnicodeDecodeError):
                    raise UserError(f"{self._not_utf8()}: is not UTF-8 text: save it as UTF-8") from error
                raise HydraException(str(error)) from error  # a choice that is not text
            except yaml.YAMLError as error:
                mark = getattr(error, "problem_mark", None)
                place = f"{mark.name}, line {mark.line + 1}" if mark else "a config file"
                raise UserError(f"{place}: {getattr(error, 'problem', None) or error}") from error
            self._merged[chosen] = pickle.dumps(cfg)
        copy: DictConfig = pickle.loads(self._merged[chosen])  # three times as fast as deepcopy
        return copy

    def _not_utf8(self) -> Path | str:
        for path in (path for folder in self.folders for path in sorted(folder.rglob("*.yaml"))):
            try:
                path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                return path
        return "a config file"

    def _wrong_key(self, override: Override, paths: Mapping[str, Any]) -> str | None:
        """Return the message about a key that does not fit the configuration with the values `paths`."""
        group = override.key.replace(".", "/")
        choices = self.choices(group)
        if choices is not None and override.prefix != "~" and not isinstance(override.value(), dict):
            if not choices:
                return f"is a folder of groups: write {group}/…"
            value = override.line.partition("=")[2]
            wrong = "" if self._exists(group, override.value()) else f"; {value}: {no_such_choice(value, choices)}"
            return f"is a group and needs a slash: write {override.prefix}{group}={'…' if wrong else value}{wrong}"
        if override.key not in paths:
            is_new = override.prefix in ("+", "++")  # the schema reports a name that its class does not accept
            return None if is_new else self._unknown_key(override, paths)
        if override.prefix == "+" and paths[override.key] is not None and not isinstance(override.value(), dict | list):
            return f"already exists: write {override.line[1:]}"
        if override.prefix == "~" and "." not in override.key:
            return "cannot be removed"
        return None

    def _unknown_key(self, override: Override, paths: Mapping[str, Any]) -> str:
        typed, _, value = override.line.lstrip("+~").partition("=")
        typed = typed.replace("/", ".")
        if typed in paths:
            return f"is an option and needs dots: write {override.prefix}{typed}={value}"
        new = next(path for path in accumulate(typed.split("."), "{}.{}".format) if path not in paths)
        parent, _, name = new.rpartition(".")
        node = paths.get(parent)
        may_exist = node == {} or (isinstance(node, dict) and _has_parameter(str(node.get("_target_")), name))
        if may_exist and override.prefix != "~":
            return f"is not in the configuration: write +{override.line}"
        names = {path: path for path in paths if typed.startswith("hydra") or not path.startswith("hydra.")}
        names |= {group.replace("/", "."): group for group, choices in self.groups.items() if choices}
        kind = "group" if "/" in override.key else "option"
        return no_such(kind, [names[name] for name in nearest(typed, names)])


def compose(command: str, overrides: Sequence[str], name: str | None = None, folder: Path = CONF) -> DictConfig:
    """Compose the configuration of a command once; `ConfigFiles` reads its files once for several configurations."""
    return ConfigFiles(command, name, folder).compose(overrides)


def without_hydra(cfg: DictConfig) -> DictConfig:
    """Return a copy of a composed configuration without the node `hydra`, as Hydra passes it to a task."""
    task: DictConfig = pickle.loads(pickle.dumps(cfg))
    with read_write(task), open_dict(task):
        del task["hydra"]
    return task


def read_options(path: Path | None) -> dict[str, Any]:
    """Return the content of a config file; an empty dict if it cannot be read, which is reported when it is chosen."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), YAML_LOADER) if path else None
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}


def combinations(overrides: Iterable[Override]) -> Iterator[list[str]]:
    """Yield the overrides of each job of a sweep: every combination of the values."""
    columns = [[override.with_value(text) for text in override.texts] for override in overrides]
    yield from map(list, product(*columns))


def _folder(url: str) -> Path:
    """Return the folder of a URL in `hydra.searchpath`.

    Raises:
        UserError: if there is no such folder.
    """
    scheme, _, path = url.rpartition("://")
    try:
        folder = Path(str(package_files(path.replace("/", ".")))) if scheme == "pkg" else Path(path).absolute()
    except ModuleNotFoundError:
        folder = Path(path)
    if not folder.is_dir():
        raise UserError(f"--config-dir or hydra.searchpath: {path}: no such folder")
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
    """Find overrides with several values in a single run, and intervals in a sweep without a search."""
    for override in overrides:
        value = override.line.partition("=")[2]
        if override.is_sweep and not sweeps:
            texts = override.with_value(f"[{value}]"), shlex.quote(override.with_value(quote(value)))
            yield Mistake(override.line, f"has several values: add -m to run each value, or write {' or '.join(texts)}")
        elif override.is_interval and cfg.hydra.sweeper.get("search", ...) is None:  # Heed's sweeper, without a search
            remedy = "add hparams_search=optuna, or list values: a,b,c"
            yield Mistake(override.line, f"is an interval, which only a search can sample: {remedy}")


def _record(cfg: DictConfig, lines: Sequence[str]) -> None:
    """Record the overrides in the node `hydra`, as Hydra does."""
    for name, is_hydra in (("hydra", True), ("task", False)):
        own = [line for line in lines if line.lstrip("+~").startswith(("hydra.", "hydra/")) == is_hydra]
        cfg.hydra.overrides[name] = own


def explain(error: HydraException) -> str:
    """Describe an error of Hydra in one line."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return f"{group}={name}: {no_such_choice(name, list(error.options))}"
    lines = str(error).splitlines() + str(error.__cause__ or type(error).__name__).splitlines()[:1]
    return ": ".join(lines[:: max(1, len(lines) - 1)]) if error.__cause__ else lines[0]


def _has_parameter(target: str, name: str) -> bool:
    """Return whether a function in the package that contains the class `target` has a parameter with this name.

    Searching the code takes milliseconds; importing the class would take seconds.
    """
    top, *inner = target.split(".")
    spec = find_spec(top) if top.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        return False
    folder = Path(spec.submodule_search_locations[0])
    for part in inner:
        folder = folder / part if (folder / part / "__init__.py").exists() else folder
    parameter = re.compile(rb"(?m)(?:^|[(,])\s*%s\s*[:=]" % re.escape(name.encode(errors="replace")))
    return any(parameter.search(file.read_bytes()) for file in folder.rglob("*.py"))
