"""Apply a function to parts of the texts in parallel, with one core and one copy of the model for each thread."""

import copy
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from src.faithfulness.probe import Probe

Part = TypeVar("Part")
Result = TypeVar("Result")


def map_in_threads(
    probe: Probe, function: Callable[[Probe, Part], Result], parts: Sequence[Part]
) -> Generator[Result, None, None]:
    """Yield `function(probe, part)` for each part, in the order of the parts.

    A small recurrent layer gains little from several cores. On a CPU, the parts are therefore distributed over as many
    threads as torch uses, and each thread uses one core. If the generator is closed early, as after Ctrl-C, each thread
    stops at its next batch.

    Args:
        probe: the model; each thread has a copy, because hooks in a model record the weights of its layers.
        function: a function whose result does not depend on the order in which the parts are processed.
    """
    cores = torch.get_num_threads()
    threads = min(cores, len(parts)) if probe.device.type == "cpu" else 1
    if threads < 2:
        yield from (function(probe, part) for part in parts)
        return
    local, stop = threading.local(), threading.Event()

    def start() -> None:
        torch.set_num_threads(1)
        local.probe = copy.deepcopy(probe)
        local.probe.stop = stop

    pool = ThreadPoolExecutor(threads, initializer=start)
    try:
        yield from pool.map(lambda part: function(local.probe, part), parts)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)  # MKL has one number of threads for the whole process
