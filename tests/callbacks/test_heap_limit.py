"""Unused memory is returned when the process grows beyond a multiple of what one step needs."""

from typing import Any

import pytest

from src.callbacks import heap_limit
from src.callbacks.heap_limit import HeapLimit

MB = 2**20


def train(factor: float, resident: list[int | None], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Train with these resident megabytes, at the start and after each step.

    Returns the steps, numbered from 1, after which memory is returned; 0 is the start of training.
    """
    returned: list[int] = []
    step = 0
    nothing: Any = None

    def resident_bytes() -> int | None:
        megabytes = resident[step]
        return None if megabytes is None else megabytes * MB

    monkeypatch.setattr(heap_limit, "resident_bytes", resident_bytes)
    monkeypatch.setattr(heap_limit, "return_unused_memory", lambda: returned.append(step))
    callback = HeapLimit(factor)
    callback.on_train_start(nothing, nothing)
    for step in range(1, len(resident)):
        callback.on_train_batch_end(nothing, nothing, nothing, nothing, step - 1)
    return returned


def test_memory_is_returned_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step needs 307 MB, so the limit is 614 MB above the 101 MB at the start."""
    assert train(2.0, [101, 408, 715, 716, 501], monkeypatch) == [0, 3]


def test_the_limit_follows_the_largest_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """After step 2, memory is returned; step 3 then needs 503 MB, and the limit rises from 614 to 1,006 MB."""
    assert train(2.0, [0, 307, 615, 503, 1006, 1007], monkeypatch) == [0, 2, 5]


def test_a_smaller_need_does_not_lower_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert train(2.0, [0, 307, 615, 11, 614, 615], monkeypatch) == [0, 2, 5]


def test_only_a_step_after_a_return_measures_the_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Step 2 reaches 599 MB because of gaps; that is not the need of a step."""
    assert train(2.0, [0, 307, 599, 615], monkeypatch) == [0, 3]


def test_a_small_heap_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert train(1.0, [53, 54, 53 + 256, 53 + 257], monkeypatch) == [0, 3]


def test_without_a_report_of_the_system_only_the_start_returns_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert train(1.0, [None, None, None], monkeypatch) == [0]


@pytest.mark.parametrize("factor", [0.99, -3.0])
def test_the_factor_is_checked(factor: float) -> None:
    with pytest.raises(ValueError, match=f"factor={factor} must be at least 1"):
        HeapLimit(factor)
