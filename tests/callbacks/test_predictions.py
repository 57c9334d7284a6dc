"""The callback that saves predictions."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from src.callbacks.predictions import Predictions
from src.errors import UserError


def test_probabilities_that_are_not_finite_are_reported(tmp_path: Path) -> None:
    """A weight that overflows in half precision is enough."""
    trainer: Any = SimpleNamespace(state=SimpleNamespace(fn="test"), world_size=1)
    module: Any = None
    callback, index = Predictions(tmp_path), torch.arange(3)
    probabilities = torch.tensor([[0.5, 0.5], [0.25, 0.75], [torch.nan, torch.nan]])
    callback.on_test_batch_end(trainer, module, {"probabilities": probabilities, "labels": index, "index": index})
    with pytest.raises(UserError, match="the model returned test probabilities that are not finite"):
        callback.on_test_end(trainer, module)
    assert list(tmp_path.iterdir()) == []
