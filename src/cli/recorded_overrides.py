"""Rebuild the command line of a run from its checkpoint: `python -m src.train ckpt_path=<run>/checkpoints/last.ckpt`.

The checkpoint may come from another person. It may choose among the config files of this installation, and set plain
options. It must not name an untrusted class or an output folder outside of its run. Its options in `LOCAL` are ignored.
"""

import logging
import os
import re
from argparse import Namespace
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from src.cli.configuration import trusted_by_user
from src.cli.parsing import ParsedOverride, parse_overrides
from src.config.composition import Repository, without_hydra
from src.config.keys import (
    COLLECTIONS,
    KEEPS_TRAINING,
    LOCAL,
    UNRELATED_TO_RESULT,
    changed_options,
    is_within,
    paths_in,
    with_present_names,
)
from src.config.mistakes import Mistake, format_mistakes
from src.config.paths import PATH_ENDS, make_paths_absolute
from src.config.quoting import escape_references, quote
from src.config.targets import TRUSTED_IN_CHECKPOINTS, find_class
from src.errors import UserError
from src.formatting import format_value
from src.kernels.malloc import reuse_freed_memory

log = logging.getLogger(__name__)

SOURCES = ("data", "model")  # nodes whose paths are only read; paths in other nodes may be written to
# Modules whose classes a checkpoint may name in place of the classes in the config files
CLASSES = TRUSTED_IN_CHECKPOINTS | {"src.callbacks", "src.optim", "torch.optim", "torchmetrics.classification"}
UNCHOSEN = ("hparams_search", "debug")  # groups whose choices a resumed run does not repeat
REMOVED = object()


def resumed_command_line(flags: Namespace, repository: Repository) -> list[str]:
    """Return the overrides of a training run; if the run resumes from `ckpt_path=…`, read them from the checkpoint.

    `ckpt_path=<run>/checkpoints/last.ckpt` becomes `model/encoder=gru ++optimizer.lr=0.5 … hydra.run.dir=<run>
    ckpt_path=…`.

    A command line that contains all overrides for the model and the data of the checkpoint is returned unchanged.

    Raises:
        UserError: if training cannot resume from the checkpoint, an override would change the model, the data or the
            training, or the configuration in the checkpoint is not allowed.
    """
    lines: list[str] = flags.overrides
    overrides, mistakes = parse_overrides(lines, repository.loader)
    values = {override.key: override.values[0] for override in overrides}
    path = values.get("ckpt_path")
    if mistakes or flags.multirun or flags.help or not isinstance(path, str) or values.get("train") is False:
        return lines
    from src.training_state import read_training_state  # imports torch

    reuse_freed_memory()
    config = with_present_names(read_training_state(path)["heed"]["config"])
    changing = [override for override in overrides if not is_within(override.key.replace("/", "."), KEEPS_TRAINING)]
    if changing and _selects(config, lines, repository):
        return lines
    trusted = trusted_by_user(repository, overrides, CLASSES)
    recorded = _recorded_overrides(config, path, values, trusted, repository)
    if refused := [mistake for override in changing if (mistake := _change(recorded, override, path, repository))]:
        raise UserError(format_mistakes(refused))
    return _merge(recorded, overrides)


def run_folder(checkpoint: str) -> Path | None:
    """The folder of the run that wrote `<run>/checkpoints/last.ckpt`; None if the file is elsewhere."""
    folder = Path(os.path.abspath(checkpoint)).parent
    is_in_run = folder.name == "checkpoints" and (folder.parent / "config.yaml").is_file()
    return folder.parent if is_in_run else None


def _selects(config: dict[str, Any], lines: list[str], repository: Repository) -> bool:
    """Return whether a command line selects the same model and data as `config`, a checkpoint's configuration."""
    try:
        typed = _plain(repository, lines)
    except (HydraException, OmegaConfBaseException):
        return False
    options = paths_in(typed)
    before, after = ({key: node.get(key) for key in SOURCES} for node in (config, typed))
    changes = changed_options(before, after, UNRELATED_TO_RESULT)
    return not any(change.partition(":")[0] in options for change in changes)  # ignores options that only `config` has


def _change(recorded: list[str], override: ParsedOverride, path: str, repository: Repository) -> Mistake | None:
    """Return a mistake if an override would change the training; None if it repeats a value in the checkpoint."""
    try:
        before, after = _plain(repository, recorded), _plain(repository, _merge(recorded, [override]))
        changes = changed_options(before, after, KEEPS_TRAINING)
    except (HydraException, OmegaConfBaseException):
        changes = [f"{override.key}: is not an option of this run"]
    if not changes:
        return None
    return Mistake(override.line, f"would change the training that resumes from {path} ({changes[0]}): remove it")


def _recorded_overrides(
    config: dict[str, Any], path: str, typed: dict[str, Any], trusted: Set[str], repository: Repository
) -> list[str]:
    """Return overrides that compose the configuration of a checkpoint again.

    Args:
        config: the configuration.
        path: path of the checkpoint.
        typed: values of the overrides on the command line.
        trusted: modules whose classes the configuration may name.
        repository: the config files.

    Raises:
        UserError: if the configuration is not allowed, or there is no folder to continue in.
    """
    own = run_folder(path)
    folder = typed.get("paths.output_dir") or typed.get("hydra.run.dir") or own
    if folder is None:
        raise UserError(
            f"ckpt_path={path} is not in the folder of a run (<run>/checkpoints/last.ckpt): add hydra.run.dir=<folder> "
            "to continue in another folder"
        )
    paths = config.get("paths")
    output = str(paths.get("output_dir")) if isinstance(paths, dict) else ""
    choices = list(_choices(config, repository))
    lines: list[str] = []
    for _ in range(2):  # the second pass is for options that refer to others, as data.seed refers to seed
        composed = _plain(repository, [*choices, *lines], output)
        differences = _differences({key: composed[key] for key in composed if key in config}, config)
        changes = {option: _relocated(value, output, str(folder)) for option, value in differences}
        lines = list(dict.fromkeys([*lines, *_lines_that_differ(changes, path)]))
        mistakes: list[Mistake] = []
        for option, value in changes.items():
            mistakes += [] if is_within(option, typed) else _forbidden(option, value, str(folder), trusted)
        if mistakes:
            raise UserError(f"the configuration in {path} is not allowed. {format_mistakes(mistakes)}")
    lines += _loggers(config, typed, choices, repository)
    continues = own is not None and "hydra.run.dir" not in typed
    lines += [f"hydra.run.dir={quote(str(own))}", "hydra.output_subdir=null"] if continues else []
    return [*choices, *lines, "hydra.mode=RUN"]


def _choices(config: dict[str, Any], repository: Repository) -> Iterator[str]:
    """Yield the overrides that choose the config files of the run, if these files exist in this installation."""
    recorded = config.get("choices") or {}
    for group in repository.compose([]).hydra.runtime.choices:
        name = recorded.get(str(group).split("/")[-1])
        if name is None or str(group).startswith("hydra") or group in UNCHOSEN:
            continue
        names = re.findall(r"[\w.-]+", name)
        if set(names) <= set(repository.groups.get(str(group), [])):
            yield f"{group}=[{','.join(names)}]" if name.startswith("[") else f"{group}={name}"


def _plain(repository: Repository, lines: list[str], output_dir: str = ".") -> dict[str, Any]:
    """The plain configuration of a command line, with `output_dir` as the run folder."""
    cfg = without_hydra(repository.compose(lines))
    cfg.paths.output_dir = escape_references(output_dir)
    plain: dict[str, Any] = make_paths_absolute(OmegaConf.to_container(cfg, resolve=True))
    return plain


def _differences(old: dict[str, Any], new: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """The options in which `new` differs from `old`, with their new values, except options in `LOCAL`."""
    for key in {**old, **new} if path else old:
        here = f"{path}.{key}" if path else str(key)
        if is_within(here, LOCAL) or here.endswith(".description"):  # read from a pretrained model's files
            continue
        before, after = old.get(key), new.get(key, REMOVED)
        if key in old and isinstance(before, dict) and isinstance(after, dict):
            yield from _differences(before, after, here)
        elif key not in old or repr(before) != repr(after):
            yield here, after


def _lines_that_differ(changes: dict[str, Any], path: str) -> Iterator[str]:
    """Yield the override of each changed option: `++optimizer.lr=0.5`, or `~optimizer.lr` for a removed option."""
    for option, value in changes.items():
        for name in option.split("."):
            _require_word(name, path)
        yield f"~{option}" if value is REMOVED else f"++{option}={_text(value, path)}"


def _forbidden(path: str, value: Any, folder: str, trusted: Set[str]) -> Iterator[Mistake]:
    """Find classes that are not trusted, and output paths outside of `folder`, the folder of the run."""
    for here, item in {path: value, **paths_in(value, path)}.items():
        top, name = here.split(".")[0], here.rpartition(".")[2]
        if name == "_target_":
            try:
                find_class(item, trusted)
            except ValueError as error:
                yield Mistake(f"{here}={format_value(item)}", str(error))
        elif isinstance(item, str) and name.endswith(PATH_ENDS) and top not in SOURCES and not _is_inside(item, folder):
            message = "is a path outside of the run's folder: repeat it on the command line if you trust it"
            yield Mistake(f"{here}={format_value(item)}", message)


def _is_inside(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _relocated(value: Any, output: str, folder: str) -> Any:
    """Return a value in which each path below `output` is moved to `folder`, the present folder of the run."""
    if isinstance(value, dict):
        return {key: _relocated(item, output, folder) for key, item in value.items()}
    if isinstance(value, str) and output and value.startswith(f"{output}/"):
        return f"{folder}{value[len(output) :]}"
    return value


def _loggers(
    config: dict[str, Any], typed: dict[str, Any], choices: list[str], repository: Repository
) -> Iterator[str]:
    """Yield overrides that remove loggers that the run did not have; warn of recorded options that are ignored."""
    nodes: Any = OmegaConf.to_container(repository.compose(choices), resolve=False)
    present, recorded = (node.get("logger") or {} for node in (nodes, config))
    if not isinstance(recorded, dict) or "logger" in typed:
        return
    for name, node in present.items():
        if recorded.get(name) is None:
            yield f"~logger.{name}"
            continue
        for key, value in recorded[name].items() if isinstance(recorded[name], dict) else ():
            own, here = node.get(key), f"logger.{name}.{key}"
            if own != value and "${" not in str(own) and here not in typed:
                log.warning(
                    "%s=%s in the checkpoint is ignored, because a checkpoint must not determine where results are "
                    "sent: to use the value, add it to the command line",
                    *(here, format_value(value)),
                )


def _merge(recorded: list[str], typed: list[ParsedOverride]) -> list[str]:
    """The recorded overrides, except those that a typed override replaces, and the typed overrides."""
    keys = {override.key for override in typed}
    replaced = {key for key in keys if key in COLLECTIONS}  # other callbacks or loggers also have other options
    remaining = []
    for line in recorded:
        key = line.lstrip("+~").partition("=")[0]
        if key not in keys and not is_within(key, replaced):
            remaining.append(line)
    return [*remaining, *(override.line for override in typed)]


def _text(value: Any, path: str) -> str:
    """Write a plain value in Hydra's grammar.

    Raises:
        UserError: if a key cannot be written.
    """
    if isinstance(value, dict):
        for key in value:
            _require_word(key, path)
        return "{" + ",".join(f"{key}:{_text(item, path)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_text(item, path) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return quote(value) if isinstance(value, str) else repr(value)


def _require_word(key: Any, path: str) -> None:
    if not isinstance(key, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
        raise UserError(
            f"{path}: the option name {format_value(key)} cannot be written on a command line; to resume, repeat the "
            "complete command line of the run"
        )
