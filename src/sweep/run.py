"""Run each job of a sweep in a child of a server that has imported everything, so that no failure ends the sweep."""

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import configure_log, setup_globals
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict

from src.config.quoting import quote_if_needed
from src.errors import UserError
from src.files import lock_folder
from src.kernels.malloc import reuse_freed_memory
from src.process import STOP_SIGNALS, exit_with_message, handle_signals
from src.run_log import log_config
from src.run_result import RunResult, delete_result
from src.sweep.jobs import DONE, accuracy, describe, recorded_result, require_ending
from src.sweep_record import Job

log = logging.getLogger(__name__)
COMMAND = "src.train"  # the module whose `main` wraps the function that a job is
OUTPUT = "output.txt"
STOP_FILE = "stop"
POLL = 0.2  # seconds between checks whether the sweep should stop, and whether the parent of a job lives
LOCK_TIMEOUT = 10.0  # seconds; longer than the processes of a killed sweep need to notice its end
START_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


class JobNotCompleted(Exception):
    """A job failed, was interrupted or did not start."""


def job_context() -> Any:
    """Return the multiprocessing context in which jobs run: children of a server that has imported what they need."""
    multiprocessing.set_start_method(None, force=True)  # joblib sets its own, which is unknown in the server
    context = multiprocessing.get_context(START_METHOD)
    context.set_forkserver_preload(["src.sweep.preload"])
    return context


def stop_requested(sweep: Path) -> int | None:
    """Return the signal that asked the sweep in a folder to stop, on any machine; None if it should not stop."""
    try:
        return int((sweep / STOP_FILE).read_text() or signal.SIGINT)
    except FileNotFoundError:
        return None


@dataclass(frozen=True)
class Task:
    """Runs one job in a child process, and records the job's outcome even if the child is killed.

    A completed or pruned job is not repeated, an interrupted job resumes from its last checkpoint, and a job that is
    running in another process is skipped. A launcher may therefore call the task again for the same job, as the
    launchers for Slurm and Ray do after a failure.

    Args:
        working_dir: the folder relative to which paths are resolved.
        sweep: the sweep's folder.
        jobs: the jobs, by folder.
        shared: overrides that all jobs share, which are omitted from messages.
        redirect_output: whether jobs print to output.txt in their folders.
        pruning: options of the pruning callback, except the number of the trial; None disables pruning.
    """

    working_dir: Path
    sweep: Path
    jobs: Mapping[str, Job]
    shared: Collection[str]
    redirect_output: bool
    pruning: Mapping[str, object] | None

    def __call__(self, cfg: DictConfig) -> float | None:
        """Run the job, unless it was completed or pruned earlier, and return the score of its selected checkpoint.

        Raises:
            JobNotCompleted: if the job is neither completed nor pruned afterwards.
        """
        os.chdir(self.working_dir)  # a worker may have started in another folder
        hydra: Any = OmegaConf.to_container(HydraConfig.instance().cfg, resolve=False)  # plain values can be pickled
        folder = Path(hydra["hydra"]["runtime"]["output_dir"])
        job = self.jobs[folder.relative_to(self.sweep).as_posix()]
        if stop_requested(self.sweep):
            raise JobNotCompleted("the sweep was stopped")
        if self.pruning:
            with open_dict(cfg):
                cfg.callbacks = {**(cfg.callbacks or {}), "pruning": {**self.pruning, "trial": job.number}}
        arguments = (cfg, hydra, self.redirect_output, dict(os.environ))
        code = run_in_child(run_job, arguments, lambda: stop_requested(self.sweep))
        with lock_folder(folder, LOCK_TIMEOUT) as acquired:
            if not acquired:
                raise JobNotCompleted("another process is running this job")
            reason = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            if code == -signal.SIGKILL:
                reason = "killed by SIGKILL, possibly because memory ran out"
            require_ending(folder, code, reason, job.overrides)
        result = recorded_result(folder)
        self._log(job, result, folder)
        if result.status not in DONE:
            raise JobNotCompleted(result.error)
        return result.best.value

    def _log(self, job: Job, result: RunResult, folder: Path) -> None:
        score, seconds = accuracy(result), result.seconds.total
        facts = [result.status]
        facts += [] if score is None else [f"acc {score:.3f}"]
        facts += [] if seconds is None else [f"{seconds:.1f} s"]
        if result.status not in DONE:
            facts += [(result.error or "").partition("\n")[0], f"see {folder / OUTPUT}"][: 1 + self.redirect_output]
        log.info("#%d %s: %s", job.number, describe(job, self.shared), ", ".join(facts))


def run_in_child(target: Callable[..., None], arguments: tuple[Any, ...], stop: Callable[[], int | None]) -> int:
    """Run `target(*arguments)` in a child process, and wait for it, however long it takes.

    Args:
        stop: returns a signal to send to the child, once. SIGINT and SIGTERM to this process are also sent to the
            child, unless handlers are set for them. If a handler raises an exception, such as Submitit's when Slurm
            preempts the job, the child receives SIGINT, and the exception is raised again after the child ends.

    Returns:
        The exit code of the child, or the negative number of the signal that killed it.
    """
    process: Any = job_context().Process(target=target, args=arguments)
    received: list[int] = []
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    unhandled = [signum for signum in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(signum) in defaults]
    is_main = threading.current_thread() is threading.main_thread()  # Python sets handlers only there
    receive = lambda signum, frame: received.append(signum)  # noqa: E731
    with handle_signals(receive, unhandled) if unhandled and is_main else nullcontext():
        try:
            process.start()
            signum = None
            while process.exitcode is None and signum is None:
                process.join(POLL)
                signum = received[0] if received else stop()
            if signum is not None:
                _send(process, signum)
            process.join()
        except BaseException:
            if process.pid is not None:
                _send(process, signal.SIGINT)
                process.join()
            raise
    return int(process.exitcode)


def _send(process: Any, signum: int) -> None:
    with suppress(ProcessLookupError):  # the process has ended
        os.kill(process.pid, signum)


def die_with_parent() -> None:
    """Kill this process soon after the process that started it, or the server from which it was forked, ends.

    A sweep then leaves no process behind, even after SIGKILL, and no job is still running when the sweep is resumed.
    """
    parent, ppid = multiprocessing.parent_process(), os.getppid()
    assert parent is not None

    def watch() -> None:
        while os.getppid() == ppid and (ppid == parent.pid or parent.is_alive()):
            time.sleep(POLL)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def run_job(cfg: DictConfig, hydra: dict[str, Any], redirect_output: bool, environment: Mapping[str, str]) -> None:
    """Run one job, from its last checkpoint if it has one, and exit this process.

    Args:
        cfg: the job's configuration, without the node `hydra`.
        hydra: the node `hydra`, as plain values.
        redirect_output: whether to write standard output and error to output.txt in the job's folder.
        environment: the environment of the process that started the job.
    """
    folder = Path(hydra["hydra"]["runtime"]["output_dir"])
    code: Any = 1
    reason = "the job ended without an error message"
    _set_up_process(folder if redirect_output else None, environment)
    with lock_folder(folder, LOCK_TIMEOUT) as acquired:
        if not acquired:
            sys.exit("Error: another process is running this job")
        if recorded_result(folder).status in DONE:
            sys.exit()
        delete_result(folder)
        try:
            with exit_with_message(str(folder)):
                _run(cfg, hydra, folder)
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
        require_ending(folder, code, reason, hydra["hydra"]["overrides"]["task"])
    sys.exit(code)


def _set_up_process(output_folder: Path | None, environment: Mapping[str, str]) -> None:
    die_with_parent()
    os.setpgid(0, 0)  # Ctrl-C reaches only the sweep, which forwards it
    os.environ.clear()
    os.environ.update(environment)
    for signum in STOP_SIGNALS:  # imported code may catch the exception that Python's own handler raises
        signal.signal(signum, signal.SIG_DFL)
    for signum in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):  # Slurm's signals; the parent handles them
        signal.signal(signum, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the server blocks signals; now the earlier ones arrive, too
    if output_folder is not None:
        file = os.open(output_folder / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)
        os.dup2(file, sys.stdout.fileno())
        os.dup2(file, sys.stderr.fileno())


def _run(cfg: DictConfig, hydra: dict[str, Any], folder: Path) -> None:
    """Call the function of the command with the job's configuration, as a single run of the command does."""
    command = import_module(COMMAND)  # also registers the resolvers that the configuration uses
    sys.modules["__main__"].__spec__ = command.__spec__  # Lightning starts this module for each further device
    hydra["hydra"]["run"]["dir"] = str(folder)  # the other processes of a distributed job write there, too
    setup_globals()
    node = OmegaConf.create({"hydra": HydraConf})
    with open_dict(node.hydra):
        node.merge_with(hydra)
    HydraConfig.instance().set_config(node)
    configure_log(node.hydra.job_logging, node.hydra.verbose)
    sys.argv = [COMMAND.rpartition(".")[2], *hydra["hydra"]["overrides"]["task"]]  # the same run without a sweep
    resume_from_last_checkpoint(cfg, folder)
    if not uses_one_device(cfg.trainer):  # Lightning also uses these arguments
        sys.argv += ["hydra.mode=RUN", *([f"ckpt_path={quote_if_needed(cfg.ckpt_path)}"] if cfg.ckpt_path else [])]
    log_config(cfg)
    reuse_freed_memory()  # malloc's options apply to one process only
    command.main.__wrapped__(cfg)


def uses_one_device(trainer: DictConfig) -> bool:
    """Return whether Lightning trains in one process."""
    devices, strategy = trainer.get("devices"), str(trainer.get("strategy", "auto"))
    has_one_device = devices in (1, "1") or (isinstance(devices, ListConfig) and len(devices) == 1)
    return has_one_device and trainer.get("num_nodes", 1) == 1 and not strategy.startswith(("ddp", "fsdp", "deepspeed"))


def resume_from_last_checkpoint(cfg: DictConfig, folder: Path) -> None:
    """Set `cfg.ckpt_path` to the last checkpoint in the job's folder, if the job trains and the file can be read.

    The rows that were logged after this checkpoint are removed, because the job logs them again; if the job does not
    resume from a checkpoint, all rows are removed.
    """
    from src.run_folder import trim_logs
    from src.training_state import read_training_state

    last, steps = folder / "checkpoints" / "last.ckpt", 0
    if cfg.get("train") and last.exists():
        try:
            steps = read_training_state(str(last)).steps
        except UserError as error:
            log.warning("%s; the job restarts from the beginning", error)
    if steps:
        cfg.ckpt_path = str(last)
        log.info("Resuming at step %d", steps)
    trim_logs(folder, steps)
