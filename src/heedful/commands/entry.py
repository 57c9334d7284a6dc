"""The entry point of every command: parse and validate the command line, then call the task.

Torch is not imported before the names on the command line are validated.
"""

import logging
import os
import re
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext, suppress
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from heedful.base.errors import UserError
from heedful.base.formatting import format_value
from heedful.base.lightning import import_lightning
from heedful.base.process import exit_with_message, is_further_process, typed
from heedful.commands.help import help_page
from heedful.config.compose import VERSION_BASE, ConfigFiles, config_folder, explain, read_options, without_hydra
from heedful.config.keys import CONF, is_within, make_paths_absolute, paths_in
from heedful.config.mistakes import Mistake, format_mistakes, no_such
from heedful.config.overrides import Override, as_typed, full_name, key_of, parse_override, path_of, quote
from heedful.kernels.malloc import reuse_freed_memory

if TYPE_CHECKING:
    from heedful.runs.environment import Launch

INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")


def entry(command: str) -> Callable[[TaskFunction], Callable[[], None]]:
    """Return a decorator that turns a function of a configuration into the `main` of a command.

    A user's mistake, or an error of the system such as a full disk, ends the program with a message and exit code 1,
    and leaves nothing on the disk if it is found before the run has produced anything. Any other exception ends the
    program with a full traceback.

    Args:
        command: train, eval, predict or export; also the name of the primary config.
    """
    # `__wrapped__` is the task itself
    return lambda task: wraps(task)(partial(run_command, command, task))


def run_command(command: str, task: TaskFunction) -> None:
    """Validate the command line, and run the task or print the page that a flag requests."""
    with exit_with_message("standard output"):
        arguments = [*map(full_name, sys.argv[1:])] if command == "train" else sys.argv[1:]
        if command == "train" and any(argument.startswith("sweep.resume=") for argument in arguments):
            from heedful.commands.resume import restore_sweep_arguments

            arguments = restore_sweep_arguments(arguments)
        if command == "predict":  # a text is taken literally: text=Truly = 10/10, "great"!
            arguments = [f"text={quote(line[5:])}" if line.startswith("text=") else line for line in arguments]
        flags = parse_flags(arguments)
        if flags.shell_completion:
            if not re.fullmatch("(install|uninstall|query)=(bash|fish|zsh)", " ".join(flags.overrides)):
                raise UserError(
                    "--shell-completion needs the name of a shell: install=bash, install=fish or install=zsh"
                )
            return show_by_hydra(ConfigFiles(command), task, "--shell-completion", *flags.overrides)
        files, cfg = compose_command(command, flags)
        if flags.help:
            about = (sys.modules[task.__module__].__doc__ or "").replace("`heedful ", f"`{typed('')}")
            print(help_page(files, flags.overrides, cfg, about, shutil.get_terminal_size().columns))
        elif flags.hydra_help or flags.info:
            page = "--hydra-help" if flags.hydra_help else f"--info={flags.info}"
            show_by_hydra(files, task, page, *files.searchpath, *flags.overrides)
        elif flags.cfg:
            print(config_page(cfg, flags), end="")
        else:
            sweeps = flags.multirun or cfg.hydra.mode == RunMode.MULTIRUN
            folder = str(cfg.hydra.sweep.dir if sweeps else cfg.hydra.run.dir)
            _run(files, flags.overrides, wraps(task)(partial(run_task, command, task)), sweeps, folder)


def compose_command(command: str, flags: Namespace) -> tuple[ConfigFiles, DictConfig]:
    """Compose and validate the configuration that the flags and overrides of a command describe.

    It includes the node `hydra`. If a training resumes, the overrides of its run replace `flags.overrides`.

    Raises:
        UserError: lists all mistakes.
    """
    flags.overrides = last_of_each_key(flags.overrides)
    if command == "train" and "ckpt_path" in map(key_of, flags.overrides):
        from heedful.commands.resume import restore_run_overrides

        restore_run_overrides(flags)
    files = config_files(command, flags)
    try:
        cfg, mistakes = files.check(flags.overrides, flags.multirun)
    except RecursionError:
        raise UserError("the configuration is nested too deeply: write it in fewer levels") from None
    sweeps = flags.multirun or cfg.hydra.mode == RunMode.MULTIRUN
    wrong = {mistake.entry for mistake in mistakes}
    others = any(line not in wrong and key_of(line) not in files.groups for line in flags.overrides)
    if mistakes and others and not sweeps:  # the values of other options may be wrong, too
        lacking = [key_of(entry) for entry in wrong]  # the value of such a key is not in `cfg`
        mistakes += [m for m in wrong_values(files, cfg, ".") if not is_within(m.path, lacking)]
    elif not mistakes and (flags.hydra_help or flags.info):
        mistakes = list(untrusted(files, cfg, flags.overrides))
    elif not (mistakes or flags.help or flags.cfg):
        mistakes = find_mistakes(files, cfg, flags.overrides, sweeps)
    if mistakes:
        raise UserError(format_mistakes(mistakes))
    return files, cfg


def parse_flags(arguments: Sequence[str]) -> Namespace:
    """Parse a command line; overrides and flags may come in any order."""
    parser = ArgumentParser(typed(Path(sys.argv[0]).stem), "%(prog)s [flags] [key=value …]", add_help=False)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--help", "-h", action="store_true")
    actions = parser.add_mutually_exclusive_group()
    for name in ("--run -r", "--multirun -m", "--hydra-help", "--shell-completion -sc"):
        actions.add_argument(*name.split(), action="store_true")
    actions.add_argument("--cfg", "-c", choices=["job", "hydra", "all"])
    actions.add_argument("--info", "-i", nargs="?", const="all", choices=INFO)
    actions.add_argument("--experimental-rerun")
    parser.add_argument("--resolve", action="store_true")
    for name in ("--package -p", "--config-dir -cd", "--config-name -cn", "--config-path -cp"):
        parser.add_argument(*name.split())
    flags = parser.parse_intermixed_args(arguments)
    if (flags.resolve or flags.package) and not flags.cfg:
        raise UserError("--resolve and --package select what --cfg prints: add --cfg job")
    if flags.experimental_rerun:
        raise UserError("--experimental-rerun is not supported: ckpt_path=<run> resumes a run with its overrides")
    return flags


def last_of_each_key(lines: Sequence[str]) -> list[str]:
    """Return the overrides without those that a later one replaces, and say so on standard error.

    Lightning adds options to the commands of its processes, which say nothing.
    """
    last: dict[str, str] = {}
    for line in lines:
        key = line if line.startswith("~") else key_of(line)
        if replaced := last.pop(key, ""):
            line = f"+{line.lstrip('+')}" if replaced.startswith("+") else line
            if not is_further_process():
                print(f"{replaced} is ignored, because {line} follows", file=sys.stderr)
        last[key] = line
    return list(last.values())


def config_files(command: str, flags: Namespace) -> ConfigFiles:
    """Return the config files that the flags select.

    The folder of `--config-dir` is added to `hydra.searchpath`, so that the record of a run contains it. So is conf/ if
    `--config-path` names another folder.
    """
    search = [] if flags.config_dir is None else [flags.config_dir]
    for line in [line for line in flags.overrides if key_of(line) == "hydra.searchpath"]:
        try:
            folders = parse_override(line, {}).value()
        except ValueError:
            folders = None
        if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
            raise UserError(format_mistakes([Mistake(line, "must be a list of folders: hydra.searchpath=[…,…]")]))
        search += folders
        flags.overrides.remove(line)
    folder = CONF if flags.config_path is None else config_folder(flags.config_path)
    if folder != CONF and str(CONF) not in map(str, map(config_folder, search)):
        search.append(str(CONF))
    return ConfigFiles(command, folder, search, flags.config_name)


def show_by_hydra(files: ConfigFiles, task: TaskFunction, *arguments: str) -> None:
    """Let Hydra print a page of its own, which needs a plain application of `hydra.main` with the same task."""
    sys.argv = ["heedful", *arguments]  # the name that a shell completes
    hydra.main(config_path=str(files.folder), config_name=files.name, **VERSION_BASE)(task)()


def config_page(cfg: DictConfig, flags: Namespace) -> str:
    """Return the part of a configuration that --cfg, --package and --resolve select, as YAML."""
    with as_run(cfg, str(cfg.hydra.run.dir)) if flags.resolve else nullcontext():
        values: Any = OmegaConf.to_container(cfg, resolve=flags.resolve)
    if flags.cfg != "all":
        values = {key: value for key, value in values.items() if (key == "hydra") == (flags.cfg == "hydra")}
    if flags.package in (None, "_global_"):
        return OmegaConf.to_yaml(values)
    nodes = paths_in(values)
    if flags.package not in nodes:
        raise UserError(f"--package={flags.package}: {no_such('node', flags.package, nodes)}")
    node = nodes[flags.package]
    return f"# @package {flags.package}\n{OmegaConf.to_yaml(node)}" if isinstance(node, dict | list) else f"{node}\n"


def find_mistakes(files: ConfigFiles, cfg: DictConfig, lines: Sequence[str], sweeps: bool) -> list[Mistake]:
    """Validate a configuration that was composed from the overrides `lines` and includes the node `hydra`.

    The jobs of a sweep are validated later.
    """
    mistakes = list(untrusted(files, cfg, lines))
    if sweeps:
        return mistakes
    try:
        folder = str(cfg.hydra.run.dir)
    except OmegaConfBaseException as error:
        return [*mistakes, Mistake("hydra.run.dir", f"cannot be resolved: {str(error).splitlines()[0]}")]
    resumes = files.command == "train" and cfg.get("ckpt_path")
    if files.command in ("train", "eval") and not (mistakes or resumes or is_further_process()):
        from heedful.runs.folder import require_new

        require_new(Path(folder))
    if OmegaConf.select(cfg, "sweep.dry_run") is True:
        mistakes.append(Mistake("sweep.dry_run=true", "applies only to sweeps: add -m"))
    return mistakes + wrong_values(files, cfg, folder)


def wrong_values(files: ConfigFiles, cfg: DictConfig, folder: str) -> list[Mistake]:
    """Find the mistakes that the schema finds in the configuration of a run in `folder`."""
    from heedful.config.schema import config_mistakes

    with as_run(cfg, folder) as task:
        if files.command in ("train", "eval"):  # prediction and export need no metrics
            import_lightning()
        return config_mistakes(task, files.command, variables=files.variables)


@contextmanager
def as_run(cfg: DictConfig, folder: str, number: int = 0) -> Iterator[DictConfig]:
    """Yield the configuration without the node `hydra`, as a run, or job `number`, in `folder` receives it.

    References such as ${hydra:job.num} can be resolved in the block.
    """
    with read_write(cfg.hydra), open_dict(cfg.hydra):  # as Hydra does at the start of a run
        cfg.hydra.runtime.output_dir = os.path.abspath(folder)
        cfg.hydra.job.num, cfg.hydra.job.id = number, str(number)
    outer = HydraConfig.instance().cfg
    HydraConfig.instance().set_config(cfg)
    try:
        yield without_hydra(cfg)
    finally:
        HydraConfig.instance().cfg = outer


def launched() -> "Launch":
    """Return how this command, or job of a sweep, was started."""
    from heedful.runs.environment import Launch, command_line

    if not HydraConfig.initialized():
        return Launch(command_line())
    node = HydraConfig.get()
    is_job = node.mode == RunMode.MULTIRUN
    return Launch(command_line(), tuple(as_typed(node.overrides.task)), node.runtime.choices, is_job)


def run_task(command: str, task: TaskFunction, cfg: DictConfig) -> Any:
    """Call the task with the configuration of one run, after Hydra has created the folder of the run."""
    from heedful.config.schema import validate_config

    folder = Path(HydraConfig.get().runtime.output_dir)
    with exit_with_message(str(folder)):
        if HydraConfig.get().mode != RunMode.RUN:  # the command line of a single run is already validated
            validate_config(cfg, command)
        reuse_freed_memory()
        logging.raiseExceptions = False  # a log file that cannot be written would cause a traceback for each line
        start = HydraConfig.get().runtime.cwd
        if HydraConfig.get().job.chdir:
            with chdir(start):
                cfg = with_absolute_paths(cfg)
        try:
            return task(cfg)
        except (UserError, OSError):
            os.chdir(start)  # from the folder of the run, if hydra.job.chdir is set
            remove_if_unused(folder, command)
            raise


def with_absolute_paths(cfg: DictConfig) -> DictConfig:
    """Return the configuration of a run that starts in another folder than the command."""
    values: Any = make_paths_absolute(OmegaConf.to_container(cfg, resolve=True))
    values |= {key: os.path.abspath(values[key]) for key in ("file", "out", "pictures") if values.get(key)}
    return OmegaConf.create(values, flags={"struct": True})


def _run(files: ConfigFiles, overrides: list[str], job: TaskFunction, sweeps: bool, folder: str) -> None:
    """Let Hydra compose the configuration, create `folder`, that of the run or the sweep, and call the job."""
    with files.initialized() as state:
        application: Any = state.hydra  # `hydra.main` would compose the configuration once more
        overrides = _defer(overrides, files.groups) if sweeps else overrides
        start, mode = (application.multirun, ["hydra.mode=MULTIRUN"]) if sweeps else (application.run, [])
        try:
            start(files.name, job, [*files.searchpath, *overrides, *mode])
        except HydraException as error:  # a mistake in the configuration
            raise UserError(explain(error, files.groups)) from None
        except (OSError, ValueError) as error:  # Hydra cannot write its files, or logging its own
            cause = error if isinstance(error, OSError) else error.__cause__
            if not isinstance(cause, OSError):
                raise
            cause.filename = cause.filename or folder
            raise cause from None


def _defer(lines: Sequence[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Write the options of swept choices as sweeps of one value, which Hydra sets in the jobs, but not in the sweep.

    The sweep's own configuration has none of the swept choices, and so perhaps not their options.
    """
    parsed = [parse_override(line, groups) for line in lines]
    swept = [path_of(each.line) for each in parsed if each.is_sweep and each.key in groups]

    def is_option(each: Override) -> bool:
        return is_within(each.key, swept) and not each.is_sweep and not each.parsed.is_delete()

    return [each.with_value(f"choice({each.texts[0]})") if is_option(each) else each.line for each in parsed]


def untrusted(files: ConfigFiles, cfg: DictConfig, lines: Sequence[str]) -> Iterator[Mistake]:
    """Find trusted modules that neither the command line nor conf/extras names, and files that others may have written
    and that set options of Hydra, which could run any program.

    The user's own files are those in the current folder and in the folder of the primary config.
    """
    from heedful.config.places import TRUSTED
    from heedful.config.schema import trusted_modules

    def is_own(path: Path) -> bool:
        return any(path.resolve().is_relative_to(each.resolve()) for each in (CONF, files.folder, Path.cwd()))

    if not any(key_of(line) in ("extras", "extras.trusted_modules") for line in lines):
        path = files.file(f"extras/{cfg.hydra.runtime.choices.get('extras')}")
        file = read_options(path) if path and is_own(path) else {}
        if untrusted := sorted(trusted_modules(cfg) - TRUSTED - set(file.get("trusted_modules") or ())):
            entry = f"extras.trusted_modules={format_value(untrusted)}"
            yield Mistake(entry, "is allowed only on the command line or in conf/extras")
    for path, package in files.selected(lines) if len(files.folders) > 1 else ():
        sets_hydra = package.startswith("hydra") if package else "hydra" in read_options(path)
        if sets_hydra and not is_own(path):
            remedy = "if you trust it, copy it into the current folder"
            yield Mistake(str(path), f"sets options of Hydra, which could run any program: {remedy}")


def remove_if_unused(folder: Path, command: str) -> None:
    """Remove the folder of a run that produced nothing, and the folders above it that are then empty."""
    from heedful.runs.result import RESULT_FILE

    unused = {".hydra", f"{command}.log", "config.yaml", RESULT_FILE}  # written at the start and at the end
    if {path.name for path in folder.iterdir()} <= unused and folder != Path.cwd():
        shutil.rmtree(folder)
        with suppress(ValueError, OSError):  # the folder above is elsewhere, not empty, or the current folder
            os.removedirs(folder.parent.relative_to(Path.cwd()))
