"""Imported once by the server from which the jobs of a sweep are forked, so that no job imports these modules again.

In any other process, this module does nothing.
"""

import atexit
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module

from heedful.base.lightning import import_lightning

MODULES = ("heedful.training.run", "heedful.sweep.job", "datasets", "wandb", "PIL.PngImagePlugin")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

if any("multiprocessing.forkserver" in argument for argument in sys.orig_argv):
    # A signal to all processes must not end the server, which reports the exit codes; the sweep stops the jobs
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # count GPUs without opening one, which forbids forking
    import_lightning()
    for name in MODULES:
        with suppress(ImportError):  # the error is reported when a job needs the module
            import_module(name)
    atexit.register(os._exit, 0)  # the server ends with the sweep; to unload all modules would take longer
