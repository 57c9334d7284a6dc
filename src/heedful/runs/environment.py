"""The environment of a run: how it was started, versions of packages and code, device and memory."""

import platform
import resource
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from heedful import __version__
from heedful.base.process import typed
from heedful.config.keys import IS_INSTALLED, PACKAGE
from heedful.runs.result import PeakMemory

PACKAGES = ("torch", "pytorch-lightning", "torchmetrics", "hydra-core", "tokenizers", "datasets", "wandb", "numpy")


@dataclass(frozen=True)
class Launch:
    """How a run was started: what its configuration does not say.

    Args:
        command: the command, or the call in Python.
        overrides: the overrides as typed, except those of Hydra's own options.
        by_group: the choice of each config group.
        is_job: whether a sweep started the run; it locks the folder and shows the data itself.
        is_quiet: whether the run prints nothing.
        has_page: whether the run draws its figures and its page.
    """

    command: str | None = None
    overrides: tuple[str, ...] = ()
    by_group: Mapping[str, str | None] = field(default_factory=dict)
    is_job: bool = False
    is_quiet: bool = False
    has_page: bool = True

    def choices(self, config: Mapping[str, Any]) -> dict[str, str]:
        """Return the choices of config groups except Hydra's, by the last name in the group's path.

        Args:
            config: the configuration of the run, from which `~model.branch` removes the branch, but not its choice.
        """
        by_group = {group: choice for group, choice in self.by_group.items() if choice is not None}
        chosen = {group.split("/")[-1]: str(by_group[group]) for group in by_group if not group.startswith("hydra")}
        is_removed = "branch" in chosen and not config["model"].get("branch")
        return chosen | ({"branch": "none"} if is_removed else {})


def command_line() -> str:
    """Return the command of this process, quoted for a shell."""
    return f"{typed(Path(sys.argv[0]).stem)} {shlex.join(sys.argv[1:])}".rstrip()


def versions() -> dict[str, str]:
    """Return the versions of Heedful, of Python and of the PACKAGES."""
    versions = {"heedful": __version__, "python": platform.python_version()}
    return versions | {name: version(name) for name in PACKAGES}


def git_commit() -> str | None:
    """Return the git commit of Heedful's code; None if it is not in its own repository, or git is missing."""
    command = ["git", "rev-parse", "--show-prefix", "HEAD"]
    try:
        result = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    prefix, _, commit = result.stdout.partition("\n")  # the path of the package in the repository
    is_own = result.returncode == 0 and Path(prefix) == Path("src", PACKAGE.name) and not IS_INSTALLED
    return commit.strip() if is_own else None


def device_name(device: torch.device) -> str:
    """Return the name of the GPU or of the processor."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "cpu"


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has started and that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_memory() -> PeakMemory:
    """Return the peak memory of this process and, if there is a GPU, of its tensors there, in MB of 2**20 bytes."""
    unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes, Linux KiB
    process = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    cuda = torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else None
    return PeakMemory(process, cuda)
