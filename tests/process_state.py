"""The state of a process; this module imports nothing of Heedful."""

import csv
import logging
import os
import signal
import sys
import threading
import warnings
from typing import Any


def process_state() -> dict[str, Any]:
    """What the import of a module must not change."""
    root = logging.getLogger()
    return {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "path": list(sys.path),
        "argv": list(sys.argv),
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "threads": threading.active_count(),
        "longest field": csv.field_size_limit(),
        "warnings": list(warnings.filters),
        "excepthook": sys.excepthook,
        "logging": (root.level, list(root.handlers), logging.raiseExceptions, logging.getLogger("heedful").level),
    }
