"""From a command line to a function that gets a checked configuration; torch is not imported before that."""

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

from src.cli.exits import one_message
from src.cli.help import page, show
from src.cli.overrides import mistakes_of
from src.cli.presets import store_variants
from src.config.composition import Repository
from src.config.hydra_errors import explain
from src.config.job_folder import job_folder
from src.config.job_names import job as job_called
from src.config.mistakes import report
from src.config.quoting import quoted
from src.config.validation import check
from src.errors import UserError
from src.kernels.malloc import reuse_freed_memory
from src.sweep import processes

SRC = Path(__file__).resolve().parents[1]
CONF = SRC.parent / "conf"

Task = Callable[[DictConfig], Any]

OmegaConf.register_new_resolver("job_folder", job_folder, replace=True)
OmegaConf.register_new_resolver("job", job_called, replace=True)


def entry(config_name: str, free_text: Collection[str] = ()) -> Callable[[Task], Callable[[], None]]:
    """Make a function of a configuration the `main` of a command.

    All mistakes of the command line and of the configuration are shown together before the function, and
    whatever it imports, is reached. A `UserError` or an error of the environment, such as a full disk, then or later,
    ends the program with a message and exit code 1; in a sweep too. Any other exception keeps its full traceback.

    Args:
        config_name: the primary config in conf/, without `.yaml`.
        free_text: options whose value is taken as typed, such as `text=Truly = 10/10, "great"!`.
    """

    def decorate(task: Task) -> Callable[[], None]:
        @functools.wraps(task)
        def main() -> None:
            typed = sys.argv
            processes.note_start()

            @functools.wraps(task)
            def job(cfg: DictConfig) -> Any:
                sys.argv = typed  # Lightning starts the other processes of a run with what was typed
                with one_message(HydraConfig.get().runtime.output_dir):
                    check(cfg, config_name)
                    if OmegaConf.select(cfg, "sweep.dry_run"):
                        raise UserError("sweep.dry_run shows the plan of a sweep: add -m")
                    reuse_freed_memory()
                    return task(cfg)

            from src.sweep.resume import command_line, resumes  # it imports from this package itself

            os.environ["HYDRA_FULL_ERROR"] = "1"
            try:
                with one_message("standard output or the folder of the run"):
                    sys.argv, flags = arranged([typed[0], *quoted(typed[1:], free_text)])
                    if config_name == "train" and resumes(flags.overrides):
                        sys.argv, flags = arranged([typed[0], *command_line(flags.overrides)])
                    if flags.hydra_help or flags.shell_completion:
                        run_hydra(job)()
                        return
                    repository = look_over(flags, config_name)
                    if flags.help:
                        about = sys.modules[task.__module__].__doc__ or ""
                        show(page(repository, flags.overrides, about, shutil.get_terminal_size().columns))
                    else:
                        run_hydra(job)()
            except InstantiationException:
                raise
            except HydraException as error:  # Hydra's word for a mistake in the configuration
                raise SystemExit(f"Error: {explain(error)}") from None
            finally:
                sys.argv = typed

        return main

    store_variants(CONF)
    run_hydra = hydra.main(version_base="1.3", config_path=str(CONF), config_name=config_name)
    return decorate


def arranged(argv: list[str]) -> tuple[list[str], Namespace]:
    """The command line with its flags behind its overrides, as Hydra wants it, and what it holds."""
    flags = get_args_parser().parse_intermixed_args(argv[1:])
    rest = argv[1:]
    for override in flags.overrides:
        rest.remove(override)
    return [argv[0], *flags.overrides, *rest], flags


def look_over(flags: Namespace, config_name: str) -> Repository:
    """The config files that the command reads.

    Raises:
        UserError: with all mistakes of the command line and the configuration.
    """
    if flags.cfg and flags.multirun:
        raise UserError("--cfg shows the configuration of one run: leave out -m")
    folder = (SRC / flags.config_path).resolve() if flags.config_path else CONF
    search = [line for line in flags.overrides if line.startswith("hydra.searchpath=")]
    repository = Repository(folder, config_name, flags.config_name, flags.config_dir, search)
    only_shows = bool(flags.help or flags.cfg or flags.info)
    if flags.overrides or not only_shows:
        found = mistakes_of(repository, flags.overrides, sweeps=flags.multirun, deep=not only_shows)
        if found:
            raise UserError(report(found))
    return repository
