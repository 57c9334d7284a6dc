"""How a Trainer writes checkpoints: atomically, as all files of a run."""

import io
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins import TorchCheckpointIO

from heedful.base.files import replace_atomically


class CheckpointWriter(TorchCheckpointIO):
    """Lightning's reader and writer of checkpoints, except that a checkpoint replaces the earlier file as a whole.

    Lightning writes to the system's folder for temporary files; where that is another file system, a full disk or a
    killed process leaves an incomplete checkpoint.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        content = io.BytesIO()  # torch raises a RuntimeError if it cannot write to a file
        torch.save(checkpoint, content)
        with replace_atomically(Path(path)) as part:
            part.write_bytes(content.getbuffer())
