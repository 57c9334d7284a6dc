"""Apply a function to parts of the texts in parallel, with one core and one copy of the model for each thread."""

import copy
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

import torch

from src.faithfulness.probe import Probe

Part = TypeVar("Part")
Result = TypeVar("Result")


def map_in_threads(
    probe: Probe, function: Callable[[Probe, Part], Result], parts: Sequence[Part]
) -> Generator[tuple[int, Result], None, None]:
    """Yield the index of each part and `function(probe, part)`, in the order of completion.

    A small recurrent layer gains little from several cores. On a CPU, the parts are therefore distributed over as many
    threads as torch uses, with one core each. If the generator is closed early, as after Ctrl-C, the threads stop at
    their next batch.

    Args:
        probe: the model; each thread has a copy, because hooks record the weights of the model's layers.
        function: a function whose result does not depend on the order of the parts.
        parts: arguments of the function, such as the rows of texts.
    """
    cores = torch.get_num_threads()
    threads = min(cores, len(parts)) if probe.device.type == "cpu" else 1
    if threads < 2:
        for index, part in enumerate(parts):
            yield index, function(probe, part)
        return
    local, stop = threading.local(), threading.Event()

    def start() -> None:
        torch.set_num_threads(1)
        local.probe = copy.deepcopy(probe)
        local.probe.stop = stop

    pool = ThreadPoolExecutor(threads, initializer=start)
    try:
        futures = {pool.submit(lambda part: function(local.probe, part), part): i for i, part in enumerate(parts)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)  # MKL has one number of threads for the whole process
