"""Processes of `python -m src.train`."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from benchmarks.memory import ROOT
from src.errors import UserError


def start_training(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """Start `python -m src.train` with arguments and with additional environment variables."""
    return subprocess.Popen(
        [sys.executable, "-m", "src.train", *arguments],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def wait(process: "subprocess.Popen[str]") -> float:
    """Wait for a process that has just been started, and return its duration in seconds.

    Raises:
        UserError: if the process failed.
    """
    start = time.perf_counter()
    _, message = process.communicate()
    if process.returncode:
        raise UserError(f"python -m src.train failed:\n{message.strip()}")
    return time.perf_counter() - start
