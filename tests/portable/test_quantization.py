"""The loss of accuracy by quantization is compared with numbers computed by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from src.data.padded_batches import Batch
from src.portable import quantization


class Session:
    """An inference session that predicts the specified classes."""

    def __init__(self, predicted: list[int]) -> None:
        self.predicted = iter(predicted)

    def run(self, outputs: None, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [np.eye(3)[[next(self.predicted) for _ in inputs["tokens"]]]]


def test_difference_in_accuracy_and_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [0] * 70 + [1] * 30
    original = [0] * 70 + [0] * 30  # 70 of 100 are correct
    quantized = [0] * 60 + [2] * 10 + [1] * 2 + [0] * 28  # ten correct predictions fewer and two more
    sessions: dict[str, Any] = {"a": Session(original), "b": Session(quantized)}
    monkeypatch.setattr(quantization, "load_session", lambda path: sessions[path.name])
    index = torch.arange(100)
    tokens = torch.ones(100, 1, dtype=torch.int64)
    whole = Batch(tokens, tokens.bool(), torch.tensor(labels), index)
    batches = [Batch(*(tensor[start : start + 37] for tensor in whole)) for start in (0, 37, 74)]
    # the difference of a text is +1, 0 or -1; its sum of squares is 12 - 100 · 0.08² = 11.36, the standard error
    # √(11.36 / 99 / 100) = 0.03387, and the 97.5 % quantile of Student's t with 99 degrees of freedom 1.9842
    assert quantization.compare_accuracy(Path("a"), Path("b"), batches) == (
        "accuracy 62.00% instead of 70.00% on 100 validation texts: -8.00 points (-14.72 to -1.28)"
    )
