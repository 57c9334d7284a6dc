"""What happens in the process of a job."""

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

from src.cli.exits import exit_with_message
from src.cli.startup import ignores_hangup
from src.sweep import processes, resume
from src.sweep.outcome import settle

log = logging.getLogger(__name__)
TALK = "output.txt"


def work(module: str, cfg: DictConfig, hydra: DictConfig, aside: bool) -> None:
    """Run one job to its end, from its last checkpoint if it has one.

    Args:
        module: of the command, such as src.train.
        cfg: the job's configuration.
        hydra: Hydra's part of it.
        aside: send what the job prints to output.txt in its folder, because others print at the same time.
    """
    folder = Path(hydra.hydra.runtime.output_dir)
    _set_up(hydra, folder if aside else None)
    sys.argv = [module.rpartition(".")[2], *hydra.hydra.overrides.task]  # as if it had been run alone
    code: Any = 1
    reason = "the job ended without a word"
    try:
        with exit_with_message(str(folder)):
            resume.prepare(cfg, folder)
            import_module(module).main.__wrapped__(cfg)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
        if code > 128:
            reason = f"stopped by {signal.Signals(code - 128).name}"
        if isinstance(end.code, str):
            reason = end.code.removeprefix("Error: ")
            log.error("%s", end.code)
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        log.exception("The job failed")
    settle(folder, code, reason, list(hydra.hydra.overrides.task))
    atexit._run_exitfuncs()  # multiprocessing leaves without them
    sys.exit(code)


def _set_up(hydra: DictConfig, talks_to: Path | None) -> None:
    processes.die_with_parent()
    os.setpgid(0, 0)  # Ctrl-C reaches the sweep alone, which passes it on
    atexit._clear()  # the parent's are the parent's
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not ignores_hangup():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for other in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):  # Slurm's, which the parent answers
        signal.signal(other, signal.SIG_IGN)
    if talks_to is not None:
        file = os.open(talks_to / TALK, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(file, sys.stdout.fileno())
        os.dup2(file, sys.stderr.fileno())
    if HydraConfig.instance().cfg is None:  # a new interpreter
        setup_globals()
        HydraConfig.instance().set_config(hydra)
        configure_log(hydra.hydra.job_logging, hydra.hydra.verbose)
