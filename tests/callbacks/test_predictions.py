"""The callback that saves predictions."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from src.callbacks.predictions import Predictions
from src.errors import UserError


def test_probabilities_that_are_not_finite_are_reported(tmp_path: Path) -> None:
    """A weight that overflows in half precision is enough."""
    trainer: Any = SimpleNamespace(state=SimpleNamespace(fn="test"))
    probabilities = np.array([[0.5, 0.5], [0.25, 0.75], [np.nan, np.nan]])
    module: Any = SimpleNamespace(evaluated={"probabilities": probabilities})
    with pytest.raises(UserError, match="the model returned test probabilities that are not finite"):
        Predictions(tmp_path).on_test_end(trainer, module)
    assert list(tmp_path.iterdir()) == []
