"""Run each job of a sweep in a child of a server that has imported everything, so that no failure ends the sweep."""

import io
import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import configure_log, setup_globals
from omegaconf import DictConfig, OmegaConf, open_dict

from heedful.base.files import lock_folder
from heedful.base.formatting import format_duration
from heedful.base.process import POLL, STOP_SIGNALS, end_with_parent, exit_with_message
from heedful.config.compose import ConfigFiles
from heedful.config.overrides import quote
from heedful.kernels.malloc import reuse_freed_memory
from heedful.report.numbers import UNKNOWN, format_known
from heedful.runs.folder import LAST
from heedful.runs.result import RESULT_FILE, RunResult
from heedful.runs.run_files import Predictions, read_existing, read_or_warn
from heedful.runs.sweep_record import Job
from heedful.tasks.stored import find_main_score, find_score, trusting

log = logging.getLogger(__name__)
OUTPUT = "output.txt"
STOP_FILE = "stop"
LOCK_TIMEOUT = 10.0  # seconds; longer than the processes of a killed sweep need to notice its end
START_METHOD = "forkserver"


def job_context() -> Any:
    """Return the multiprocessing context in which jobs run: children of a server that has imported what they need."""
    multiprocessing.set_start_method(None, force=True)  # joblib sets its own, which is unknown in the server
    context = multiprocessing.get_context(START_METHOD)
    context.set_forkserver_preload(["heedful.sweep.preload"])
    return context


@dataclass(frozen=True)
class JobRunner:
    """Runs one job in a child process, and records the job's outcome even if the child is killed.

    A completed job is not repeated, an interrupted job resumes from its last checkpoint, and a job that is
    running in another process is skipped. A launcher may therefore call the task again for the same job, as the
    launchers for Slurm and Ray do after a failure.

    Args:
        working_dir: the folder relative to which paths are resolved.
        sweep: the sweep's folder; `jobs` are by the names of their folders in it.
        redirect_output: whether jobs print to output.txt in their folders.
    """

    working_dir: Path
    sweep: Path
    jobs: Mapping[str, Job]
    redirect_output: bool

    def __call__(self, cfg: DictConfig) -> None:
        """Run the job, unless it was completed earlier."""
        os.chdir(self.working_dir)  # a worker may have started in another folder
        hydra: Any = OmegaConf.to_container(HydraConfig.instance().cfg, resolve=False)  # plain values can be pickled
        folder = Path(hydra["hydra"]["runtime"]["output_dir"])
        job = self.jobs[folder.name]
        if self.stop_requested():
            return
        code = run_in_child((cfg, hydra, self.redirect_output, dict(os.environ)), self.stop_requested)
        with lock_folder(folder, LOCK_TIMEOUT) as acquired:
            if not acquired:
                log.warning("%s: another process is running this job", job.folder)
                return
            with trusting(cfg.extras.trusted_modules or ()):
                result = record_ending(folder, code, job)
        status, score, *others = outcome(result)
        log.info("%s: %s (%s %s, %s) %s", job.folder, status, score_label([result]), score, *others)

    def stop_requested(self) -> int | None:
        """Return the signal that asked the sweep to stop, on any machine; None if it should not stop."""
        try:
            return int((self.sweep / STOP_FILE).read_text() or signal.SIGINT)
        except FileNotFoundError:
            return None


def run_in_child(arguments: tuple[Any, ...], stop: Callable[[], int | None]) -> int:
    """Call `run_job` with the arguments in a child process, and wait for it, however long it takes.

    Args:
        stop: returns a signal to send to the child. After Ctrl-C, or an exception of a signal handler, such as
            Submitit's when Slurm preempts the job, the child receives SIGINT.

    Returns:
        The exit code of the child, or the negative number of the signal that killed it.
    """
    process: Any = job_context().Process(target=run_job, args=arguments)
    process.start()
    signum = None
    try:
        while process.exitcode is None and signum is None:
            process.join(POLL)
            signum = stop()
    except BaseException:
        signum = signal.SIGINT
        raise
    finally:
        if signum is not None:
            with suppress(ProcessLookupError):  # the process has ended
                os.kill(process.pid, signum)
        process.join()
    return int(process.exitcode)


def outcome(result: RunResult) -> tuple[str, str, str, str]:
    """Return the status, the main score (without a test, on the validation split), the duration and the reason."""
    score = result.score(f"{result.split}/{find_main_score(result.metrics, result.split)}")
    seconds = UNKNOWN if result.seconds.total is None else format_duration(result.seconds.total)
    return result.status, format_known(score), seconds, (result.error or "").partition("\n")[0]


def score_label(results: Sequence[RunResult]) -> str:
    """Return the label of the main score of runs of the same task, of which those that failed early have no scores."""
    fullest = max(results, key=lambda result: len(result.metrics))
    name = find_main_score(fullest.metrics, fullest.split)
    return getattr(find_score(name), "label", name)


def recorded_result(folder: Path) -> RunResult:
    """Return the record of a run; if it or the predictions cannot be read, log a warning and return an empty record."""

    def read(folder: Path) -> RunResult:
        for split in ("val", "test"):
            read_existing(folder / "predictions" / f"{split}.npz", Predictions.load)
        return RunResult.load(folder)

    return read_or_warn(read, folder) or RunResult()


def record_ending(folder: Path, code: int, job: Job) -> RunResult:
    """Return the record of a job that ended with an exit code, after completing it if the process was killed.

    A recorded completion counts only if the exit code is 0.
    """
    result = recorded_result(folder)
    is_recorded = {"completed": code == 0, "failed": bool(result.error), "interrupted": True}
    if is_recorded.get(result.status):
        return result
    status, error = "failed", f"ended with exit code {code}"
    if (signum := -code if code < 0 else code - 128) in STOP_SIGNALS:
        status, error = "interrupted", f"stopped by {signal.Signals(signum).name}"
    elif code < 0:
        hint = ", possibly because memory ran out" * (signum == signal.SIGKILL)
        error = f"killed by {signal.Signals(signum).name}{hint}"
    result = replace(result, overrides=result.overrides or tuple(job.overrides), status=status, error=error)
    result.save(folder)
    return result


def die_with_parent() -> None:
    """Kill this process soon after the process that started it, or the server from which it was forked, ends.

    A sweep then leaves no process behind, even after SIGKILL, and no job is still running when the sweep is resumed.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    # joblib's processes cannot ask whether a parent that ended before their start is alive: the error ends them, too
    end_with_parent(lambda: os.getppid() == parent.pid or parent.is_alive())


def set_up_worker() -> None:
    """Set up a worker of joblib; the sweep passes signals on to the jobs."""
    die_with_parent()
    for signum in STOP_SIGNALS:
        signal.signal(signum, signal.SIG_IGN)


def run_job(cfg: DictConfig, hydra: dict[str, Any], redirect_output: bool, environment: Mapping[str, str]) -> None:
    """Run one job in this process, from its last checkpoint if it has one, unless it was completed earlier.

    `cfg` lacks the node `hydra`, which is given as plain values. The environment is that of the sweep's process.
    """
    folder = Path(hydra["hydra"]["runtime"]["output_dir"])
    _set_up_process(folder if redirect_output else None, environment)
    with lock_folder(folder, LOCK_TIMEOUT) as acquired, trusting(cfg.extras.trusted_modules or ()):
        if not acquired:
            sys.exit("Error: another process is running this job")
        if recorded_result(folder).status != "completed":
            (folder / RESULT_FILE).unlink(missing_ok=True)
            try:
                with exit_with_message(str(folder)):
                    _run(cfg, hydra, folder)
            except SystemExit as end:
                if isinstance(end.code, str) and recorded_result(folder).status == "pending":  # before its first record
                    overrides, error = tuple(hydra["hydra"]["overrides"]["task"]), end.code.removeprefix("Error: ")
                    RunResult(status="failed", error=error, overrides=overrides).save(folder)
                raise


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
    for stream in (sys.stdout, sys.stderr):
        cast(io.TextIOWrapper, stream).reconfigure(encoding="utf-8" if output_folder else None, errors="replace")


def _run(cfg: DictConfig, hydra: dict[str, Any], folder: Path) -> None:
    """Call the function of the command with the job's configuration, as a single run of the command does."""
    command = import_module("heedful.commands.train")  # also registers the resolvers that the configuration uses
    sys.modules["__main__"].__spec__ = command.__spec__  # Lightning starts this module for each further device
    hydra["hydra"]["run"]["dir"] = str(folder)  # the other processes of a distributed job write there, too
    setup_globals()
    node = OmegaConf.create({"hydra": HydraConf})
    with open_dict(node), open_dict(node.hydra):
        node.merge_with(hydra, cfg)  # references in the node `hydra` may refer to options of the command
    HydraConfig.instance().set_config(node)
    configure_log(node.hydra.job_logging, node.hydra.verbose)
    files = ConfigFiles.of(node, "train").arguments
    sys.argv = ["train", *files, *hydra["hydra"]["overrides"]["task"], "hydra.mode=RUN"]  # without a sweep
    last = folder / "checkpoints" / LAST
    if last.exists():
        cfg.ckpt_path = str(last)
        sys.argv.append(f"ckpt_path={quote(str(last))}")
        log.info("Resuming from %s", last)
    reuse_freed_memory()  # malloc's options apply to one process only
    command.main.__wrapped__(cfg)
