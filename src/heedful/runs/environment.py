"""The environment of a run: command line, choices, versions of packages and code, device and memory."""

import platform
import resource
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import torch
from hydra.core.hydra_config import HydraConfig

from heedful.base.process import typed
from heedful.config.keys import IS_INSTALLED, PACKAGE
from heedful.config.overrides import as_typed
from heedful.runs.result import PeakMemory

PACKAGES = ("torch", "pytorch-lightning", "torchmetrics", "hydra-core", "tokenizers", "datasets", "wandb", "numpy")


def command_line() -> str:
    """Return the command of this process, quoted for a shell."""
    return f"{typed(Path(sys.argv[0]).stem)} {shlex.join(sys.argv[1:])}".rstrip()


def overrides() -> tuple[str, ...]:
    """Return the overrides of this run or job as typed, except those of Hydra's own options; () outside Hydra."""
    return tuple(as_typed(HydraConfig.get().overrides.task)) if HydraConfig.initialized() else ()


def choices() -> dict[str, str]:
    """Return the choices of config groups except Hydra's, by the last name in the group's path; {} outside Hydra."""
    by_group = HydraConfig.get().runtime.choices if HydraConfig.initialized() else {}
    selected = {group: choice for group, choice in by_group.items() if choice is not None}
    return {group.split("/")[-1]: str(choice) for group, choice in selected.items() if not group.startswith("hydra")}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the PACKAGES."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def git_commit() -> str | None:
    """Return the git commit of Heedful's code; None if it is installed, not in a repository, or git is missing."""
    if IS_INSTALLED:
        return None
    command = ["git", "rev-parse", "HEAD"]
    try:
        result = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return result.stdout.strip() or None


def device_name(device: torch.device) -> str:
    """Return the name of the GPU or of the processor."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "cpu"


def peak_memory() -> PeakMemory:
    """Return the peak memory of this process and, if there is a GPU, of its tensors there, in MB of 2**20 bytes."""
    unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes, Linux KiB
    process = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    cuda = torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else None
    return PeakMemory(process, cuda)
