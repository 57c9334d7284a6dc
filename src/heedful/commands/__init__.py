"""The commands, one module each: `heedful train`, or `python -m src.train` in a clone."""

import os
import sys

from heedful.base.process import PROGRAM, set_up_process, typed
from heedful.kernels.malloc import restart_without_cache


def set_up(command: str, program: str) -> None:
    """Set up the process of a command, which the user has typed after `program`, before torch is imported."""
    os.environ[PROGRAM] = program
    if command == "train":  # other commands need less memory, and the cache speeds tokenizing up
        restart_without_cache()
    set_up_process()


if sys.argv[:1] == ["-m"]:  # Python imports the packages of the module that it will run
    module = next((name for name in sys.orig_argv if name.startswith(("src.", f"{__name__}."))), "")
    if module:  # Lightning starts further processes of `heedful train` by the module's own name
        set_up(module.rpartition(".")[2], "python -m src." if module.startswith("src.") else typed(""))
