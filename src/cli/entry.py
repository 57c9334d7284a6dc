"""The entry point of every command: parse and validate the command line, then call the task.

Torch is not imported before the names on the command line are validated, except when a run resumes.
"""

import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Collection
from functools import partial, wraps
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, InstantiationException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from src.cli.help import help_page, print_page
from src.cli.overrides import command_line_mistakes
from src.cli.resume import restore_run_overrides
from src.config.composition import Repository
from src.config.hydra_adapter import execute, parse_flags
from src.config.hydra_errors import explain
from src.config.jobs import job_folder, job_name
from src.config.mistakes import format_mistakes
from src.config.quoting import quote_values
from src.config.validation import mark_validated, validate_config
from src.errors import UserError
from src.kernels.malloc import reuse_freed_memory
from src.process.exits import exit_with_message
from src.run_log import log_config
from src.sweep import processes
from src.sweep.resume import requests_resume, restore_sweep_overrides

SRC = Path(__file__).resolve().parents[1]
CONF = SRC.parent / "conf"

Task = Callable[[DictConfig], Any]

OmegaConf.register_new_resolver("job_folder", job_folder, replace=True)
OmegaConf.register_new_resolver("job", job_name, replace=True)


def entry(command: str, free_text: Collection[str] = ()) -> Callable[[Task], Callable[[], None]]:
    """Return a decorator that turns a function of a configuration into the `main` of a command.

    All mistakes on the command line and in the configuration are reported together before the function is called.
    A user's mistake, or an error of the environment such as a full disk, ends the program with a message and exit
    code 1. Any other exception ends it with a full traceback.

    Args:
        command: train, eval, predict or export; also the default name of the primary config.
        free_text: options whose values are taken literally, such as `text=Truly = 10/10, "great"!`.
    """
    # src.sweep.child calls `__wrapped__`, the undecorated task
    return lambda task: wraps(task)(partial(run_command, command, task, free_text))


def run_command(command: str, task: Task, free_text: Collection[str]) -> None:
    """Validate the command line, and run the task or print the page that a flag requests."""
    processes.record_fork_safety()
    try:
        with exit_with_message("standard output"):
            flags, repository = read_command_line(sys.argv[1:], command, free_text)
        with exit_with_message("standard output" if only_prints(flags) else "standard output or the folder of the run"):
            if flags.help and not flags.hydra_help:
                description = sys.modules[task.__module__].__doc__ or ""
                print_page(help_page(repository, flags.overrides, description, shutil.get_terminal_size().columns))
            else:
                job = wraps(task)(partial(run_task, command, task))  # Hydra calls it for each run
                execute(repository.loader, flags, command, repository.config_name, job)
    except InstantiationException:
        raise
    except HydraException as error:  # a mistake in the configuration
        raise SystemExit(f"Error: {explain(error)}") from None


def read_command_line(
    arguments: list[str], command: str, free_text: Collection[str] = ()
) -> tuple[Namespace, Repository]:
    """Parse and validate the command line; if it resumes a run or sweep, add the recorded overrides.

    Raises:
        UserError: if the run or sweep cannot resume, or if there are mistakes on the command line or in the
            configuration; the message lists all mistakes.
    """
    flags = parse_flags(quote_values(arguments, free_text))
    if command == "train":
        restore_run_overrides(flags)
    folder = (SRC / flags.config_path).resolve() if flags.config_path else CONF
    search = [override for override in flags.overrides if override.startswith("hydra.searchpath=")]
    repository = Repository(folder, command, flags.config_name, flags.config_dir, search)
    if flags.hydra_help or flags.shell_completion:
        return flags, repository
    if command == "train" and requests_resume(flags.overrides):
        flags.overrides, flags.multirun = restore_sweep_overrides(flags, repository), True
    if flags.cfg and flags.multirun:
        raise UserError("--cfg prints the configuration of one run: remove -m")
    if flags.experimental_rerun:
        raise UserError("--experimental-rerun is not supported: repeat the command in the run's result.json")
    deep = not only_prints(flags)
    if mistakes := command_line_mistakes(repository, flags.overrides, sweeps=flags.multirun, deep=deep):
        raise UserError(format_mistakes(mistakes))
    return flags, repository


def only_prints(flags: Namespace) -> bool:
    """Return whether a flag requests a page instead of a run."""
    return bool(flags.help or flags.cfg or flags.info or flags.hydra_help or flags.shell_completion)


def run_task(command: str, task: Task, cfg: DictConfig) -> Any:
    """Call the task with the configuration of one run."""
    with exit_with_message(HydraConfig.get().runtime.output_dir):
        if HydraConfig.get().mode == RunMode.RUN:  # the command line of a single run is already validated
            mark_validated(cfg)
        else:
            validate_config(cfg, command)
        if OmegaConf.select(cfg, "sweep.dry_run"):
            raise UserError("sweep.dry_run=true applies only to sweeps: add -m")
        log_config(cfg)
        reuse_freed_memory()
        return task(cfg)
