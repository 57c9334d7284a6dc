"""The entry point of every command: parse and validate the command line, then call the task.

Torch is not imported before the command line is validated.
"""

import functools
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, InstantiationException
from omegaconf import DictConfig, OmegaConf

from src.cli.help import help_page, print_page
from src.cli.overrides import command_line_mistakes
from src.cli.presets import store_variants
from src.config.composition import Repository
from src.config.hydra_errors import explain
from src.config.job_folder import job_folder
from src.config.job_names import job_name
from src.config.mistakes import format_mistakes
from src.config.quoting import quote_values
from src.config.validation import validate_config
from src.errors import UserError
from src.kernels.malloc import reuse_freed_memory
from src.process.exits import exit_with_message
from src.sweep import processes

SRC = Path(__file__).resolve().parents[1]
CONF = SRC.parent / "conf"

Task = Callable[[DictConfig], Any]

OmegaConf.register_new_resolver("job_folder", job_folder, replace=True)
OmegaConf.register_new_resolver("job", job_name, replace=True)


def entry(config_name: str, free_text: Collection[str] = ()) -> Callable[[Task], Callable[[], None]]:
    """Decorate a function of a configuration as the `main` of a command.

    All mistakes of the command line and of the configuration are reported together before the function is called.
    A `UserError` or an error of the environment, such as a full disk, ends the program with a message and exit code 1,
    also in a sweep. Any other exception keeps its full traceback.

    Args:
        config_name: the primary config in conf/, without `.yaml`.
        free_text: options whose values are passed on as typed, such as `text=Truly = 10/10, "great"!`.
    """

    def decorate(task: Task) -> Callable[[], None]:
        @functools.wraps(task)
        def main() -> None:
            argv = sys.argv
            processes.note_start()

            @functools.wraps(task)
            def job(cfg: DictConfig) -> Any:
                sys.argv = argv  # Lightning starts the other processes of a run with the original arguments
                with exit_with_message(HydraConfig.get().runtime.output_dir):
                    validate_config(cfg, config_name)
                    if OmegaConf.select(cfg, "sweep.dry_run"):
                        raise UserError("sweep.dry_run=true prints the plan of a sweep: add -m")
                    reuse_freed_memory()
                    return task(cfg)

            from src.sweep.resume import read_command_line, requests_resume  # it imports this package

            os.environ["HYDRA_FULL_ERROR"] = "1"
            try:
                with exit_with_message("standard output or the folder of the run"):
                    sys.argv, flags = arrange_arguments([argv[0], *quote_values(argv[1:], free_text)])
                    if config_name == "train" and requests_resume(flags.overrides):
                        sys.argv, flags = arrange_arguments([argv[0], *read_command_line(flags.overrides)])
                    if flags.hydra_help or flags.shell_completion:
                        run_hydra(job)()
                        return
                    repository = validate_command_line(flags, config_name)
                    if flags.help:
                        description = sys.modules[task.__module__].__doc__ or ""
                        print_page(
                            help_page(repository, flags.overrides, description, shutil.get_terminal_size().columns)
                        )
                    else:
                        run_hydra(job)()
            except InstantiationException:
                raise
            except HydraException as error:  # a mistake in the configuration
                raise SystemExit(f"Error: {explain(error)}") from None
            finally:
                sys.argv = argv

        return main

    store_variants(CONF)
    run_hydra = hydra.main(version_base="1.3", config_path=str(CONF), config_name=config_name)
    return decorate


def arrange_arguments(argv: list[str]) -> tuple[list[str], Namespace]:
    """Move the flags behind the overrides, as Hydra requires; also return the parsed command line."""
    flags = get_args_parser().parse_intermixed_args(argv[1:])
    rest = argv[1:]
    for override in flags.overrides:
        rest.remove(override)
    return [argv[0], *flags.overrides, *rest], flags


def validate_command_line(flags: Namespace, config_name: str) -> Repository:
    """Validate the command line, and return the config files of the command.

    Raises:
        UserError: with all mistakes of the command line and of the configuration.
    """
    if flags.cfg and flags.multirun:
        raise UserError("--cfg prints the configuration of one run: remove -m")
    folder = (SRC / flags.config_path).resolve() if flags.config_path else CONF
    search = [override for override in flags.overrides if override.startswith("hydra.searchpath=")]
    repository = Repository(folder, config_name, flags.config_name, flags.config_dir, search)
    only_prints = bool(flags.help or flags.cfg or flags.info)
    if flags.overrides or not only_prints:
        mistakes = command_line_mistakes(repository, flags.overrides, sweeps=flags.multirun, deep=not only_prints)
        if mistakes:
            raise UserError(format_mistakes(mistakes))
    return repository
