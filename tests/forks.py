"""Run commands in processes that are forked from a server which has imported all modules.

A new interpreter needs seconds of CPU time to import torch and Lightning. `subprocess` remains for tests that need a
new interpreter: tests of the modules that a command imports, of signals and closed streams at its start, and of exit
handlers.
"""

import atexit
import gc
import importlib
import multiprocessing
import multiprocessing.forkserver
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import heedful
from heedful.__main__ import commands
from heedful.base.lightning import import_lightning
from tests.compositions import share_compositions
from tests.process_state import process_state

ENTRY_POINTS = [f"heedful.commands.{name}" for name in commands()]  # run as __main__
OTHER_MODULES = ("datasets", "onnx", "pytorch_lightning.loggers", "wandb.sdk.launch", "PIL.PngImagePlugin")


CHANGES: dict[str, Any] = {}  # of the process by the import of a module, in the server


def import_unchanged(name: str) -> None:
    """Import a module, and note in CHANGES what this changes in the process."""
    before = process_state()
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:  # of an extra, which may not be installed
        assert not (error.name or "").startswith("heedful"), name
    after = process_state()
    if after != before:
        CHANGES[name] = {key: value for key, value in after.items() if value != before[key]}


def preload() -> None:
    """Import, in the server, the modules that commands use."""
    gc.disable()
    for library in ("torch", "hydra", "datasets", "wandb", "sklearn.linear_model"):
        importlib.import_module(library)  # which do change their process
    import_lightning()
    for module in pkgutil.walk_packages(heedful.__path__, "heedful."):
        if module.name not in (*ENTRY_POINTS, "heedful.sweep.preload"):  # which blocks signals
            import_unchanged(module.name)
    for name in OTHER_MODULES:
        with suppress(ImportError):
            importlib.import_module(name)
    from tests.helpers import repository

    repository("train").compose([])
    repository("predict").compose(["ckpt_path=x"])
    gc.freeze()  # else the first collection of a process copies the memory of the server
    gc.enable()


def server() -> "multiprocessing.context.ForkServerContext":
    """The context whose processes are forked from the server."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preload"])
    return context


OWN: Any = multiprocessing.forkserver._forkserver  # what this process knows of a server


def start_server() -> dict[str, Any]:
    """Start the server, and return how other processes find it, as long as this one lives."""
    OWN.set_forkserver_preload(["tests.preload"])
    OWN.ensure_running()
    names = ("_forkserver_address", "_forkserver_authkey")  # the key since Python 3.14
    return {name: getattr(OWN, name) for name in names if hasattr(OWN, name)}


def use_server(known: Mapping[str, Any]) -> None:
    """Fork from the server of another process; to start one takes 8 s of CPU time."""
    vars(OWN).update(known, _forkserver_alive_fd=os.pipe()[1], ensure_running=lambda: None)


class Fork:
    """A command in a forked process, with the interface of `subprocess.Popen`.

    Args:
        line: the interpreter, `-m` or `-c`, a module or code, and the arguments, from `helpers.command`.
        options: `cwd` (the working folder) and `env` (the environment), also from `helpers.command`.
        input: the text on standard input.
        merge: whether standard error is written to standard output.
    """

    def __init__(self, line: Sequence[str], options: Mapping[str, Any], input: str = "", merge: bool = False) -> None:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", delete=False) as file:
            file.write(input)
        self._streams = [Path(file.name), *(Path(f"{file.name}.{name}") for name in ("out", "err"))]
        if merge:
            self._streams[2] = self._streams[1]
        arguments = (line[1:], options["cwd"], options["env"], self._streams)
        self._process = server().Process(target=_execute, args=arguments)
        self._process.start()
        self.pid = int(self._process.pid or 0)

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[str, str]:
        """Wait until the process ends, and return standard output and standard error."""
        self._process.join()
        output, error = (path.read_text(encoding="utf-8") for path in self._streams[1:])
        for path in self._streams:
            path.unlink(missing_ok=True)
        return output, "" if self._streams[1] == self._streams[2] else error


def complete(line: Sequence[str], options: Mapping[str, Any], input: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a command in a forked process, and wait until it ends."""
    fork = Fork(line, options, input)
    output, error = fork.communicate()
    assert fork.returncode is not None
    return subprocess.CompletedProcess(line, fork.returncode, output, error)


def _execute(line: Sequence[str], folder: Path, environment: dict[str, str], streams: list[Path]) -> None:
    """Execute `-m <module>` or `-c <code>` in a forked process as a new Python interpreter does."""
    atexit._clear()  # remove the server's handlers, one of which deletes a W&B folder that all processes use
    for number, path in enumerate(streams):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        os.dup2(os.open(path, flags, 0o600), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # multiprocessing closed standard input
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    flag, program, *arguments = line
    from heedful.base.process import PROGRAM, set_up_process
    from heedful.sweep import job
    from heedful.training import run

    run.write_run_report = lambda *_: []  # drawing takes most of the time of a run
    # The server has only imported modules, so its children may fork, which spares a sweep a server of its own.
    job.START_METHOD = "fork"
    share_compositions()
    sys.argv = [flag, *arguments]
    try:
        if flag == "-m":
            set_up_process()
            os.environ[PROGRAM] = "python -m src."
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            exec(compile(program, "<string>", "exec"), sys.modules["__main__"].__dict__)
    finally:  # as in a new interpreter; multiprocessing would first wait for joblib's workers, which end after minutes
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
