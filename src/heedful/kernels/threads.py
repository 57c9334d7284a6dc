"""The number of CPU threads with which torch computes."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def use_threads(number: int | None) -> Iterator[None]:
    """Let torch compute with this number of threads in the block, and restore the process; None changes nothing."""
    before = torch.get_num_threads()
    if number is not None and number != before:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)
