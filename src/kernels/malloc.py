"""Memory: reuse of freed memory by malloc, a limit on cached kernels, and a check that a model fits in memory."""

import ctypes
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from src.errors import UserError

if TYPE_CHECKING:
    from torch import nn

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
NEVER = 2**31 - 1  # bytes; the largest value that mallopt accepts
LARGE = 10**9  # bytes; tensors of typical models are smaller
TOO_LARGE = re.compile(r"overflow|too large|invalid.*(size|dimension)|out of memory|allocate memory", re.IGNORECASE)


def reuse_freed_memory() -> None:
    """Set malloc to reuse freed memory in later training steps instead of returning it to the system.

    The system allocates memory page by page and fills each page with zeros, which took a third of the time of a
    BiLSTM's training step. Reuse requires that there are few padded lengths (`Truncation.padded_length`); otherwise the
    memory blocks of one batch rarely fit the tensors of the next batch. Torch is also set to use huge pages if they
    are available.

    Call this function before torch allocates its first large tensor. On systems without glibc, malloc is unchanged. The
    environment variables MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ and THP_MEM_ALLOC_ENABLE take precedence.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # read by torch
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_option is not None:
        set_option(M_TRIM_THRESHOLD, NEVER)
        set_option(M_MMAP_THRESHOLD, LARGE)


def limit_compiled_kernels() -> None:
    """Limit the number of kernels that oneDNN caches, for programs whose batches have many different shapes.

    The kernels of an LSTM take about half a megabyte for each shape. Call this function before the first batch. The
    environment variable ONEDNN_PRIMITIVE_CACHE_CAPACITY takes precedence.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")


def machine_memory() -> int | None:
    """Return the number of bytes of memory that this process may use; None if it is unknown."""
    limits = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):  # limits of a container
        with suppress(OSError, ValueError):  # the file does not exist or contains no number
            limits.append(int(Path(file).read_text(encoding="ascii")))
    return min(limits, default=None)


def require_memory(model: "nn.Module") -> None:
    """Check that a model fits in memory; its components may be on the meta device.

    The check counts all weights, and the gradients of trained weights, but not the optimizer state. It passes if the
    size of the memory is unknown.

    Raises:
        UserError: if the weights and gradients exceed the memory; the message names the largest component.
    """
    available = machine_memory()
    sizes = {name: sum(map(_bytes, component.parameters())) for name, component in model.named_children()}
    needed = sum(sizes.values())
    if available is None or needed <= available:
        return
    largest = max(sizes, key=lambda name: sizes[name])
    parameters = sum(parameter.numel() for parameter in getattr(model, largest).parameters())
    raise UserError(
        f"model.{largest}: its {parameters:,} parameters need {_gigabytes(sizes[largest])} for weights and gradients, "
        f"the whole model needs {_gigabytes(needed)}; this machine has {_gigabytes(available)}: choose smaller sizes"
    )


def is_size_error(error: Exception) -> bool:
    """Return whether torch raised `error` because a tensor is too large, on any device, including meta."""
    kinds = (RuntimeError, MemoryError, OverflowError, TypeError)
    return isinstance(error, kinds) and TOO_LARGE.search(str(error)) is not None


def _bytes(parameter: "nn.Parameter") -> int:
    copies = 2 if parameter.requires_grad else 1
    return copies * parameter.numel() * parameter.element_size()


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
