"""The entry point of every command: parse and validate the command line, then call the task.

Torch is not imported before the names on the command line are validated.
"""

import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, InstantiationException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from src.config.compose import CONF, VERSION_BASE, ConfigFiles, explain, read_options, without_hydra
from src.config.help import help_page
from src.config.keys import key_of
from src.config.mistakes import Mistake, format_mistakes
from src.config.quoting import quote_values
from src.errors import UserError
from src.formatting import format_value
from src.kernels.malloc import reuse_freed_memory
from src.process import exit_with_message, import_torchmetrics

DEFAULT_TAGS = ["dev"]  # the tags in conf/train.yaml and conf/eval.yaml

Task = Callable[[DictConfig], Any]


def entry(command: str, free_text: Collection[str] = ()) -> Callable[[Task], Callable[[], None]]:
    """Return a decorator that turns a function of a configuration into the `main` of a command.

    A user's mistake, or an error of the system such as a full disk, ends the program with a message and exit code 1,
    and leaves nothing on the disk if it is found before the run has produced anything. Any other exception ends the
    program with a full traceback.

    Args:
        command: train, eval, predict or export; also the default name of the primary config.
        free_text: options whose values are taken literally, such as `text=Truly = 10/10, "great"!`.
    """
    # `__wrapped__` is the task itself
    return lambda task: wraps(task)(partial(run_command, command, task, free_text))


def run_command(command: str, task: Task, free_text: Collection[str]) -> None:
    """Validate the command line, and run the task or print the page that a flag requests."""
    with exit_with_message("standard output"):
        arguments = sys.argv[1:]
        if command == "train" and any(argument.startswith("sweep.resume=") for argument in arguments):
            from src.sweep.jobs import restore_arguments

            arguments = restore_arguments(arguments)
        flags = parse_flags(quote_values(arguments, free_text))
        if flags.hydra_help or flags.shell_completion:
            return _call_hydra_main(CONF, command, task, flags)
        if command == "train" and "ckpt_path" in map(key_of, flags.overrides):
            from src.config.resume import restore_run_overrides

            restore_run_overrides(flags)
        files = config_files(command, flags)
        cfg = files.compose(flags.overrides, flags.multirun)
        if flags.help:
            about = sys.modules[task.__module__].__doc__ or ""
            print(help_page(files, flags.overrides, about, shutil.get_terminal_size().columns))
        elif flags.cfg or flags.info:
            _call_hydra_main(files.folder, files.name, task, flags)
        else:
            sweeps = flags.multirun or cfg.hydra.mode == RunMode.MULTIRUN
            if mistakes := find_mistakes(files, cfg, flags.overrides, sweeps):
                raise UserError(format_mistakes(mistakes))
            job = wraps(task)(partial(run_task, command, task))  # Hydra calls it for each run
            _run(files, flags.overrides, job, sweeps)


def parse_flags(arguments: Sequence[str]) -> Namespace:
    """Parse a command line; overrides and flags may come in any order.

    Raises:
        SystemExit: with 2 if a flag is unknown.
        UserError: if two flags exclude each other.
    """
    parser = ArgumentParser(f"python -m src.{Path(sys.argv[0]).stem}", "%(prog)s [flags] [key=value …]", add_help=False)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--version", action="version", version=f"Hydra {hydra.__version__}")
    for name in ("--help -h", "--hydra-help", "--resolve", "--run -r", "--multirun -m", "--shell-completion -sc"):
        parser.add_argument(*name.split(), action="store_true")
    for name in ("--package -p", "--config-path -cp", "--config-name -cn", "--config-dir -cd"):
        parser.add_argument(*name.split())
    parser.add_argument("--cfg", "-c", choices=["job", "hydra", "all"])
    pages = ["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"]
    parser.add_argument("--info", "-i", choices=pages, const="all", nargs="?")
    flags = parser.parse_intermixed_args(arguments)
    if flags.cfg and flags.multirun:
        raise UserError("--cfg prints the configuration of one run: remove -m")
    return flags


def config_files(command: str, flags: Namespace) -> ConfigFiles:
    """Return the config files that the flags select.

    The folder of `--config-dir` is added to `hydra.searchpath`, so that the record of a run contains it.
    """
    folder = (CONF.parent / "src" / flags.config_path).resolve() if flags.config_path else CONF
    search = [] if flags.config_dir is None else [f"file://{Path(flags.config_dir).absolute()}"]
    for line in [line for line in flags.overrides if key_of(line) == "hydra.searchpath"]:
        search += ConfigFiles(command, folder=CONF).parse(line).value()
        flags.overrides.remove(line)
    return ConfigFiles(command, flags.config_name, folder, search)


def find_mistakes(files: ConfigFiles, cfg: DictConfig, lines: Sequence[str], sweeps: bool) -> list[Mistake]:
    """Validate a configuration that was composed from the overrides `lines` and includes the node `hydra`.

    The jobs of a sweep are validated later.
    """
    from src.config.paths import hydra_output_mistakes
    from src.config.schema import config_mistakes

    mistakes = [*_untrusted(files, cfg, lines), *hydra_output_mistakes(cfg.hydra, sweeps=sweeps)]
    resumes = cfg.get("train") and cfg.get("ckpt_path")
    if files.command in ("train", "eval") and not (sweeps or mistakes or resumes):
        from src.run_folder import require_new

        require_new(Path(cfg.hydra.run.dir))
    typed = set(map(key_of, lines))
    needs_tags = OmegaConf.select(cfg, "extras.enforce_tags") is True and "tags" in cfg
    if needs_tags and (not cfg.tags or (cfg.tags == DEFAULT_TAGS and "tags" not in typed)):
        mistakes.append(Mistake("extras.enforce_tags=true", "requires tags: write tags=[…], such as tags=[imdb]"))
    if not sweeps:
        with _values_of_a_run(cfg, "." if mistakes else str(cfg.hydra.run.dir)):
            if files.command in ("train", "eval"):  # prediction and export need no metrics
                import_torchmetrics()
            mistakes += config_mistakes(without_hydra(cfg), files.command)
    return mistakes


def run_task(command: str, task: Task, cfg: DictConfig) -> Any:
    """Call the task with the configuration of one run, after Hydra has created the folder of the run."""
    from src.config.schema import validate_config
    from src.run_log import log_config

    folder = Path(HydraConfig.get().runtime.output_dir)
    with exit_with_message(str(folder)):
        if HydraConfig.get().mode != RunMode.RUN:  # the command line of a single run is already validated
            validate_config(cfg, command)
        if OmegaConf.select(cfg, "sweep.dry_run"):
            raise UserError("sweep.dry_run=true applies only to sweeps: add -m")
        log_config(cfg)
        reuse_freed_memory()
        try:
            return task(cfg)
        except UserError:
            _remove_if_unused(folder, command)
            raise


def _run(files: ConfigFiles, overrides: list[str], job: Task, sweeps: bool) -> None:
    """Let Hydra compose the configuration, create the folder of the run or the sweep, and call the job."""
    with files.initialized() as state:
        application: Any = state.hydra  # `hydra.main` would compose the configuration once more
        try:
            if sweeps:
                application.multirun(files.name, job, [*files.searchpath, *overrides, "hydra.mode=MULTIRUN"])
            else:
                application.run(files.name, job, [*files.searchpath, *overrides])
        except InstantiationException:
            raise
        except HydraException as error:  # a mistake in the configuration
            raise UserError(explain(error)) from None


def _call_hydra_main(folder: Path, name: str, task: Task, flags: Namespace) -> None:
    """Print one of Hydra's own pages; Hydra expects the flags before the overrides."""
    arguments = sys.argv
    sys.argv = [argument for argument in arguments if argument not in flags.overrides] + flags.overrides
    try:
        hydra.main(config_path=str(folder), config_name=name, **VERSION_BASE)(task)()
    finally:
        sys.argv = arguments


def _untrusted(files: ConfigFiles, cfg: DictConfig, lines: Sequence[str]) -> Iterator[Mistake]:
    """Find trusted modules that neither the command line nor conf/extras names, and files outside conf/ that set
    options of Hydra, which could run any program.
    """
    from src.config.places import TRUSTED
    from src.config.schema import trusted_modules

    if requested := trusted_modules(cfg) - TRUSTED:
        is_typed = any(key_of(line) in ("extras", "extras.trusted_modules") for line in lines)
        file = read_options(files.folder / "extras" / f"{cfg.hydra.runtime.choices.get('extras')}.yaml")
        if not is_typed and (untrusted := sorted(requested - set(file.get("trusted_modules") or ()))):
            entry = f"extras.trusted_modules={format_value(untrusted)}"
            yield Mistake(entry, "is allowed only on the command line or in conf/extras")
    if not files.search:
        return
    with files.initialized() as state:
        loader, all_lines = state.config_loader(), [*files.searchpath, *lines]
        selected = loader.compute_defaults_list(files.name, all_lines, RunMode.MULTIRUN).defaults
    for file in selected:
        path = files.path(str(file.config_path))
        sets_hydra = file.package.startswith("hydra") if file.package else "hydra" in read_options(path)
        if sets_hydra and path and not path.is_relative_to(files.folder):
            yield Mistake(str(path), "sets options of Hydra, which only conf/ and the command line may set")


@contextmanager
def _values_of_a_run(cfg: DictConfig, folder: str) -> Iterator[None]:
    """Set the values that Hydra sets at the start of a run, to which references such as `${hydra:…}` refer."""
    with read_write(cfg.hydra), open_dict(cfg.hydra):
        cfg.hydra.runtime.output_dir = os.path.abspath(folder)
        cfg.hydra.job.num, cfg.hydra.job.id = 0, "0"
    HydraConfig.instance().set_config(cfg)
    try:
        yield
    finally:
        HydraConfig.instance().cfg = None


def _remove_if_unused(folder: Path, command: str) -> None:
    """Remove the folder of a run that produced nothing, and the folders above it that are then empty."""
    from src.run_result import RESULT_FILE

    unused = {".hydra", f"{command}.log", "config.yaml", RESULT_FILE}  # written at the start and at the end
    if {path.name for path in folder.iterdir()} <= unused and folder != Path.cwd():
        shutil.rmtree(folder)
        for parent in folder.relative_to(Path.cwd()).parents if folder.is_relative_to(Path.cwd()) else ():
            with suppress(OSError):  # not empty, or the current folder
                os.rmdir(parent)
