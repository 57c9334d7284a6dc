"""The entry point of every command: parse and validate the command line, then call the task.

Torch is not imported before the names on the command line are validated.
"""

import logging
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode, TaskFunction
from omegaconf import DictConfig, OmegaConf

from heedful.base.errors import UserError
from heedful.base.process import exit_with_message, importing, typed
from heedful.commands.help import help_page
from heedful.config.compose import VERSION_BASE, ConfigFiles, explain
from heedful.config.overrides import as_typed, full_name, quote
from heedful.kernels.malloc import reuse_freed_memory
from heedful.launch.composition import compose_command, config_page, parse_flags

if TYPE_CHECKING:
    from heedful.runs.environment import Launch


def entry(command: str) -> Callable[[TaskFunction], Callable[[], None]]:
    """Return a decorator that turns a function of a configuration into the `main` of a command.

    A user's mistake, or an error of the system such as a full disk, ends the program with a message and exit code 1,
    and leaves nothing on the disk if it is found before the run has produced anything. Any other exception ends the
    program with a full traceback.
    """
    # `__wrapped__` is the task itself
    return lambda task: wraps(task)(partial(run_command, command, task))


def run_command(command: str, task: TaskFunction) -> None:
    """Validate the command line, and run the task or print the page that a flag requests."""
    with exit_with_message("standard output"):
        arguments = [*map(full_name, sys.argv[1:])] if command == "train" else sys.argv[1:]
        if command == "train" and any(argument.startswith("sweep.resume=") for argument in arguments):
            from heedful.launch.resume import restore_sweep_arguments

            arguments = restore_sweep_arguments(arguments)
        if command == "predict":  # a text is taken literally: text=Truly = 10/10, "great"!
            literal = re.compile("(text|second)=(.*)", re.DOTALL).fullmatch
            arguments = [f"{found[1]}={quote(found[2])}" if (found := literal(line)) else line for line in arguments]
        if command == "eval":  # the options of the data come from the model, so that conf/ has none
            arguments = [f"++{line}" if line.startswith("data.") else line for line in arguments]
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
            _run(files, cfg, wraps(task)(partial(run_task, command, task)), sweeps)


def show_by_hydra(files: ConfigFiles, task: TaskFunction, *arguments: str) -> None:
    """Let Hydra print a page of its own, which needs a plain application of `hydra.main` with the same task."""
    sys.argv = ["heedful", *arguments]  # the name that a shell completes
    hydra.main(config_path=str(files.folder), config_name=files.name, **VERSION_BASE)(task)()


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
        if "torch" not in sys.modules:
            with importing():
                import torch  # noqa: F401
        reuse_freed_memory()
        logging.raiseExceptions = False  # a log file that cannot be written would cause a traceback for each line
        try:
            return task(cfg)
        except (UserError, OSError):
            from heedful.runs.folder import remove_if_unused

            remove_if_unused(folder, command)
            raise


def _run(files: ConfigFiles, cfg: DictConfig, job: TaskFunction, sweeps: bool) -> None:
    """Let Hydra create the folder of the run or the sweep that a configuration describes, and call the job.

    In that of a sweep, an option with several values has the first one.
    """
    folder = str(cfg.hydra.sweep.dir if sweeps else cfg.hydra.run.dir)
    OmegaConf.set_readonly(cfg.hydra, False)
    if sweeps:
        cfg.hydra.mode = RunMode.MULTIRUN
        cfg.hydra.overrides.hydra.append("hydra.mode=MULTIRUN")  # for the jobs
    with files.initialized() as state:
        application: Any = state.hydra
        application.compose_config = lambda **_: cfg  # Hydra would compose it once more
        try:
            (application.multirun if sweeps else application.run)(files.name, job, [])
        except HydraException as error:  # of a sweeper or launcher
            raise UserError(explain(error, files.groups)) from None
        except (OSError, ValueError) as error:  # Hydra cannot write its files, or logging its own
            cause = error if isinstance(error, OSError) else error.__cause__
            if not isinstance(cause, OSError):
                raise
            cause.filename = cause.filename or folder
            raise cause from None
