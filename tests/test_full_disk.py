"""A disk without room ends a run with one message, whatever was being written."""

import errno
import sys
from pathlib import Path
from typing import Any

import pytest

from src.train import main

WRITERS = {
    "the configuration": "src.run.Run.__enter__",
    "a checkpoint": "pytorch_lightning.Trainer.save_checkpoint",
    "the CSV file": "pytorch_lightning.loggers.CSVLogger.save",
    "gradients": "src.callbacks.gradients.GradientNorms.on_train_epoch_end",
    "predictions": "numpy.savez_compressed",
    "pictures": "matplotlib.figure.Figure.savefig",
    "the result": "src.run_result.RunResult.save",
}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_folder_is_named(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(WRITERS[writer], full)
    monkeypatch.chdir(tmp_path)
    small = ["model.encoder.hidden_dim=6", "trainer.max_epochs=1", "logger=csv", "data.cache_dir=cache"]
    fewer = ["~callbacks.progress", "~callbacks.attention", "~callbacks.parts_summary"]
    monkeypatch.setattr(sys, "argv", ["train.py", "hydra.run.dir=run", *small, *fewer])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (
        str(ended.value)
        == f"Error: the disk is full, so {tmp_path / 'run'} could not be written; free some space and run again"
    )
