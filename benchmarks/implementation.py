"""A process that trains one implementation, so that its memory use does not affect the other implementations."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.baselines import Loop, Reviews, Training
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
    has_graphs: bool
    batch_size: int
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

        return HeedfulRunner(job.overrides, job.folder, job.device, job.has_graphs).train
    training = Training(job.loop, job.vocabulary, job.device, job.bf16, job.has_graphs)
    texts = Reviews.of(job.texts, job.labels, job.device)
    ranked = texts.lengths.argsort().tolist()
    return lambda reviews: training.epoch(texts, torch.tensor(evenly(ranked, reviews)), job.batch_size)


def _prepare(job: Job) -> None:
    global _reader
    _reader = create_reader(job)


_reader: Reader
