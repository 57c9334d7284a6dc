"""`map_in_threads` returns the results of a computation without threads, raises errors, and can end early."""

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import numpy as np
import pytest
import torch

from src.faithfulness.probe import Probe
from src.faithfulness.texts import measure_texts
from src.faithfulness.threads import map_in_threads
from tests.faithfulness.models import BAD, GOOD, additive

TEXTS = [np.array([5, GOOD, 7, 8, BAD, 9, 11][: 2 + number % 6]) for number in range(13)]
BATCHES = [np.arange(13)[start : start + 3] for start in range(0, 13, 3)]


@pytest.fixture
def three_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("three_threads")
def test_threads_do_not_change_the_results() -> None:
    pytest.importorskip("captum")
    names: set[str] = set()

    def measure(probe: Probe, rows: np.ndarray) -> dict[str, np.ndarray]:
        names.add(threading.current_thread().name)
        measures = ["removal", "soft", "limits", "flip"]
        return measure_texts(probe, [TEXTS[row] for row in rows], [[0, int(row)] for row in rows], measures)[0]

    probe = additive()
    expected = [measure(probe, rows) for rows in BATCHES]
    names.clear()
    actual = list(map_in_threads(probe, measure, BATCHES))
    assert len(actual) == 5
    assert threading.main_thread().name not in names
    for index, arrays in enumerate(expected):
        assert arrays.keys() == actual[index].keys()
        for name, values in arrays.items():
            np.testing.assert_allclose(actual[index][name], values, atol=1e-6, err_msg=name)
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("three_threads")
def test_each_thread_has_a_model_and_errors_reach_the_caller() -> None:
    probe = additive()
    models: set[int] = set()

    def fail(thread_probe: Probe, index: int) -> None:
        models.add(id(thread_probe.model))
        raise ValueError(f"batch {index}")

    with pytest.raises(ValueError, match=r"batch [0-6]"):
        list(map_in_threads(probe, fail, range(7)))
    assert id(probe.model) not in models


@pytest.mark.usefixtures("three_threads")
def test_an_early_end_stops_the_threads_at_their_next_batch() -> None:
    started, stopped = threading.Semaphore(0), threading.Semaphore(0)

    def work(probe: Probe, index: int) -> int:
        if index == 0:
            started.acquire()
            started.acquire()
            return index
        started.release()
        try:
            while True:
                probe.probabilities(TEXTS)
        except CancelledError:
            stopped.release()
            raise

    results = map_in_threads(additive(), work, range(50))
    assert next(results) == 0
    results.close()  # returns after the threads have ended
    assert stopped.acquire(blocking=False) and stopped.acquire(blocking=False)
