"""What a Trainer has in place of Lightning's own: the writer of checkpoints, and the profiler that measures nothing."""

import io
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins import TorchCheckpointIO
from pytorch_lightning.profilers import PassThroughProfiler

from heedful.base.files import replace_atomically

NOTHING = nullcontext()


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


class NoProfiler(PassThroughProfiler):
    """Measures nothing, like Lightning's own, but without a new context for each hook of each callback in each step."""

    def profile(self, action_name: str) -> AbstractContextManager[None]:  # type: ignore[override]
        return NOTHING
