"""The file of predictions holds each row of a split once, in the split's order."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from src.callbacks.predictions import Predictions

NAMES = ("bad", "fair", "good")


def fake_trainer(stage: str) -> Any:
    """Return the attributes of a Trainer that the callback reads."""
    data, state = SimpleNamespace(class_names=NAMES), SimpleNamespace(fn=stage)
    return SimpleNamespace(state=state, world_size=1, is_global_zero=True, datamodule=data)


def outputs(index: list[int]) -> dict[str, torch.Tensor]:
    """Row i has label i mod 3, and probability i/100 of the first class."""
    rows = torch.tensor(index)
    first = rows / 100
    return {"probabilities": torch.stack([first, 1 - first, 0 * first], 1), "labels": rows % 3, "index": rows}


@pytest.mark.parametrize(("split", "hook"), [("test", "test"), ("val", "validation")])
def test_rows_stand_in_their_order_and_once(tmp_path: Path, split: str, hook: str) -> None:
    callback = Predictions(tmp_path / "predictions")
    trainer = fake_trainer("evaluate")
    module: Any = None
    for index in ([4, 1], [3, 0], [2, 4]):  # several processes may share a split's last row
        getattr(callback, f"on_{hook}_batch_end")(trainer, module, outputs(index))
    getattr(callback, f"on_{hook}_end")(trainer, module)
    with np.load(tmp_path / "predictions" / f"{split}.npz") as arrays:
        assert arrays["index"].tolist() == [0, 1, 2, 3, 4]
        assert arrays["labels"].tolist() == [0, 1, 2, 0, 1]
        assert arrays["probabilities"].dtype == np.float32
        np.testing.assert_allclose(arrays["probabilities"][:, 0], [0, 0.01, 0.02, 0.03, 0.04], rtol=1e-6)
        assert tuple(arrays["class_names"]) == NAMES


def test_validation_between_epochs_leaves_nothing(tmp_path: Path) -> None:
    callback = Predictions(tmp_path)
    trainer = fake_trainer("fit")
    module: Any = None
    callback.on_validation_batch_end(trainer, module, outputs([0, 1]))
    callback.on_validation_end(trainer, module)
    assert not list(tmp_path.iterdir())
