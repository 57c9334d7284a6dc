"""Tests of what only a GPU shows. They are skipped without one; HEEDFUL_TEST_DEVICE=cpu tries them on the CPU."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

DEVICE = os.environ.get("HEEDFUL_TEST_DEVICE", "cuda")
# cuBLAS reads this before its first product; deterministic algorithms need it
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    is_absent = DEVICE == "cuda" and not torch.cuda.is_available()
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skipif(is_absent, reason="torch finds no GPU"))
            item.add_marker(pytest.mark.filterwarnings("default"))  # a driver's warnings are printed


@pytest.fixture(scope="session")
def device() -> str:
    """cuda, or what HEEDFUL_TEST_DEVICE names."""
    return DEVICE


@pytest.fixture(scope="session")
def trainer(device: str) -> str:
    """The override that trains on the device."""
    return f"trainer={'gpu' if device == 'cuda' else 'cpu'}"


@pytest.fixture(autouse=True)
def full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cuDNN compute float32 as such, and not as TF32, whose products have 11 significant bits."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


@pytest.fixture
def deterministic(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let torch use deterministic algorithms, and raise an error for operations that have none."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
