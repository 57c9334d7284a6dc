"""The process in which one job of a sweep runs."""

import atexit
import logging
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import configure_log, setup_globals
from omegaconf import DictConfig

from src.kernels.malloc import reuse_freed_memory
from src.process import exit_with_message, ignores_hangup
from src.run_log import log_config
from src.sweep import processes, resume
from src.sweep.outcome import ensure_outcome

log = logging.getLogger(__name__)
OUTPUT = "output.txt"


def run_job(module: str, cfg: DictConfig, hydra: DictConfig, redirect_output: bool) -> None:
    """Run one job, from its last checkpoint if it has one, and exit this process.

    Args:
        module: the command's module, such as src.train.
        cfg: the job's configuration, without Hydra's node.
        hydra: the whole configuration, including Hydra's node.
        redirect_output: whether to write standard output and error to output.txt in the job's folder.
    """
    folder = Path(hydra.hydra.runtime.output_dir)
    _set_up_process(hydra, folder if redirect_output else None)
    overrides = list(hydra.hydra.overrides.task)
    sys.argv = [module.rpartition(".")[2], *overrides]  # the command line of the same run without a sweep
    code: Any = 1
    reason = "the job ended without an error message"
    try:
        with exit_with_message(str(folder)):
            log_config(cfg)
            reuse_freed_memory()  # malloc's options apply to one process only
            resume.resume_from_last_checkpoint(cfg, folder)
            import_module(module).main.__wrapped__(cfg)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
        if code - 128 in [*signal.Signals]:
            reason = f"stopped by {signal.Signals(code - 128).name}"
        if isinstance(end.code, str):
            reason = end.code.removeprefix("Error: ")
            log.error("%s", end.code)
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        log.exception("The job failed")
    ensure_outcome(folder, code, reason, overrides)
    atexit._run_exitfuncs()  # multiprocessing skips exit handlers
    sys.exit(code)


def _set_up_process(hydra: DictConfig, output_folder: Path | None) -> None:
    processes.die_with_parent()
    os.setpgid(0, 0)  # Ctrl-C reaches only the sweep, which forwards it
    atexit._clear()  # exit handlers that the parent registered must not run here
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # imported code may catch the exception that Python's handler raises
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not ignores_hangup():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for signum in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):  # Slurm's signals; the parent handles them
        signal.signal(signum, signal.SIG_IGN)
    if output_folder is not None:
        file = os.open(output_folder / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(file, sys.stdout.fileno())
        os.dup2(file, sys.stderr.fileno())
    if HydraConfig.instance().cfg is None:  # the process was spawned, not forked
        setup_globals()
        HydraConfig.instance().set_config(hydra)
        configure_log(hydra.hydra.job_logging, hydra.hydra.verbose)
