"""The memory of the machine: whether a model fits, and its reuse from one step to the next."""

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from src.errors import UserError

if TYPE_CHECKING:
    from torch import nn

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
NEVER = 2**31 - 1  # bytes; as much as an option can hold
LARGE = 12 * 2**20  # bytes: at 16 MB a training of a BiLSTM takes 200 MB more


def reuse_freed_memory() -> None:
    """Let freed memory serve the next step, instead of giving it back to the system and asking for it again.

    The system hands memory out page by page and sets each to zero, which took a third of a BiLSTM's step. Blocks below
    12 MB are kept. Larger ones, whose holes would never quite fit the next batch, are given back, but asked for in
    huge pages, where the system has them. Call it before torch's first large tensor. Only glibc has the options; what
    the environment says (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_, THP_MEM_ALLOC_ENABLE) stands.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch's own option
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_option is not None:
        set_option(M_TRIM_THRESHOLD, NEVER)
        set_option(M_MMAP_THRESHOLD, LARGE)


def machine_memory() -> int | None:
    """Bytes of memory that this process may use, as far as the system tells."""
    limits = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):  # of a container
        with suppress(OSError, ValueError):  # there is none
            limits.append(int(Path(file).read_text(encoding="ascii")))
    return min(limits, default=None)


def require_memory(model: "nn.Module") -> None:
    """Refuse a model that cannot fit, from the sizes of its components; they may be on the meta device.

    Counts the weights and, of those that are trained, the gradients: an optimizer's state comes on top.

    Raises:
        UserError: if these need more than the machine has; names the largest component and its size.
    """
    available = machine_memory()
    sizes = {name: sum(map(_bytes, part.parameters())) for name, part in model.named_children()}
    needed = sum(sizes.values())
    if available is None or needed <= available:
        return
    largest = max(sizes, key=lambda name: sizes[name])
    parameters = sum(parameter.numel() for parameter in getattr(model, largest).parameters())
    raise UserError(
        f"model.{largest}: its {parameters:,} parameters need {_gigabytes(sizes[largest])} for weights and gradients, "
        f"the whole model {_gigabytes(needed)}; this machine has {_gigabytes(available)}: choose smaller sizes"
    )


def _bytes(parameter: "nn.Parameter") -> int:
    copies = 2 if parameter.requires_grad else 1
    return copies * parameter.numel() * parameter.element_size()


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
