"""A process that trains one implementation, so that its memory use does not affect the other implementations."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from benchmarks.baselines import Loop
from benchmarks.measure import Reader, evenly
from heedful.kernels.malloc import reuse_freed_memory


class Job(NamedTuple):
    """What a process trains, on which reviews.

    Args:
        loop: a plain loop; None: Heedful.
        overrides: Heedful's configuration.
        texts: token ids of each review of the plain loop.
    """

    loop: Loop | None
    overrides: list[str]
    folder: Path
    device: str
    bf16: bool
    texts: list[Tensor]
    labels: Tensor
    vocabulary: int


def start(job: Job) -> ProcessPoolExecutor:
    """Start a process that trains the implementation of a job; `train` runs in it."""
    return ProcessPoolExecutor(1, get_context("spawn"), initializer=_prepare, initargs=(job,))


def train(reviews: int) -> float:
    """Train the process's implementation on about `reviews` reviews, and return the reviews per second."""
    return _reader(reviews)


def create_reader(job: Job) -> Reader:
    """Return the function that trains the implementation of a job."""
    if job.loop is None:
        reuse_freed_memory()
        from benchmarks.heedful import HeedfulRunner  # imported here, because it allocates torch's first tensors

        return HeedfulRunner(job.overrides, job.folder, job.device).train
    loop, model = job.loop, job.loop.model(job.vocabulary).to(job.device)
    ranked = sorted(range(len(job.texts)), key=lambda row: len(job.texts[row]))

    def read(reviews: int) -> float:
        rows = evenly(ranked, reviews)
        batches = loop.batches([job.texts[row] for row in rows], job.labels[rows])
        return loop.train(model, batches, job.device, job.bf16)

    return read


def _prepare(job: Job) -> None:
    global _reader
    _reader = create_reader(job)


_reader: Reader
