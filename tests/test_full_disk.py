"""A full disk ends a run with one message that names the file, and leaves the earlier file as it was."""

import errno
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from heedful.commands import export
from heedful.commands.train import main
from heedful.training.plugins import CheckpointWriter


def raise_disk_full(*args: Any, **kwargs: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("writer", ["pytorch_lightning.Trainer.save_checkpoint", "heedful.runs.result.RunResult.save"])
def test_a_full_disk_is_reported_with_the_folder(writer: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(writer, raise_disk_full)
    monkeypatch.setattr("heedful.training.run.write_run_report", lambda *_: [])  # drawing takes most of the time
    monkeypatch.chdir(tmp_path)
    options = ["model.encoder.hidden_dim=6", "trainer.max_epochs=1", "logger=csv", "data.cache_dir=cache"]
    removals = ["~callbacks.progress", "~callbacks.attention"]
    monkeypatch.setattr(sys, "argv", ["train.py", "hydra.run.dir=run", *options, *removals])
    with pytest.raises(SystemExit) as exit_info:
        main()
    message = str(exit_info.value)
    assert message.startswith(f"Error: {tmp_path / 'run'}")
    assert message.endswith(": No space left on device; correct this, or choose another path")
    assert "Written to" not in capsys.readouterr().out


def test_a_full_disk_names_the_folder_of_an_export(checkpoint, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["export.py", f"ckpt_path='{checkpoint}'", "out=model"])
    monkeypatch.setattr(Path, "write_bytes", raise_disk_full)
    with pytest.raises(SystemExit, match=f"{tmp_path / 'model'}.*: No space left on device"):
        export.main()
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_that_cannot_be_written_leaves_the_earlier_one(checkpoint, tmp_path, monkeypatch) -> None:
    path = tmp_path / "checkpoints" / "last.ckpt"
    writer = CheckpointWriter()
    writer.save_checkpoint(torch.load(checkpoint, weights_only=True), path)
    before = path.read_bytes()

    def write_half(path: Path, content: memoryview) -> None:
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise_disk_full()

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(OSError, match="No space left") as error:
        writer.save_checkpoint({"epoch": 3}, path)
    assert error.value.filename == str(path)
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


def test_a_log_file_that_cannot_be_opened_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run" / "train.log").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train.py", "hydra.run.dir=run"])
    with pytest.raises(SystemExit, match=rf"^Error: {tmp_path}/run/train\.log: Is a directory"):
        main()
