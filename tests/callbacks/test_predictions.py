"""The file of predictions contains each row of a split once, in the order of the split."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from src.callbacks.predictions import Predictions

NAMES = ("bad", "fair", "good")


def make_trainer(stage: str) -> Any:
    """Return the attributes of a Trainer that the callback uses."""
    data, state = SimpleNamespace(class_names=NAMES), SimpleNamespace(fn=stage)
    return SimpleNamespace(state=state, world_size=1, is_global_zero=True, datamodule=data)


def outputs(index: list[int]) -> dict[str, torch.Tensor]:
    """Return outputs in which row i has the label i mod 3 and the probability i / 100 of the first class."""
    rows = torch.tensor(index)
    first = rows / 100
    return {"probabilities": torch.stack([first, 1 - first, 0 * first], 1), "labels": rows % 3, "index": rows}


@pytest.mark.parametrize(("split", "hook"), [("test", "test"), ("val", "validation")])
def test_each_row_is_written_once_in_order(tmp_path: Path, split: str, hook: str) -> None:
    callback = Predictions(tmp_path / "predictions")
    trainer = make_trainer("evaluate")
    module: Any = None
    for index in ([4, 1], [3, 0], [2, 4]):  # with several processes, a row may be repeated
        getattr(callback, f"on_{hook}_batch_end")(trainer, module, outputs(index))
    getattr(callback, f"on_{hook}_end")(trainer, module)
    with np.load(tmp_path / "predictions" / f"{split}.npz") as arrays:
        assert arrays["index"].tolist() == [0, 1, 2, 3, 4]
        assert arrays["labels"].tolist() == [0, 1, 2, 0, 1]
        assert arrays["probabilities"].dtype == np.float32
        np.testing.assert_allclose(arrays["probabilities"][:, 0], [0, 0.01, 0.02, 0.03, 0.04], rtol=1e-6)
        assert tuple(arrays["class_names"]) == NAMES


def test_validation_between_epochs_writes_no_file(tmp_path: Path) -> None:
    callback = Predictions(tmp_path)
    trainer = make_trainer("fit")
    module: Any = None
    callback.on_validation_batch_end(trainer, module, outputs([0, 1]))
    callback.on_validation_end(trainer, module)
    assert not list(tmp_path.iterdir())
