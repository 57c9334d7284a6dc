"""Checkpoint reading for Lightning that validates files through `src.checkpoint`."""

from typing import Any

from lightning_fabric.plugins import TorchCheckpointIO

from src.checkpoint import read_checkpoint


class ValidatedCheckpointIO(TorchCheckpointIO):
    """Lightning's plugin, except that loading accepts validated files with plain values and tensors only."""

    def load_checkpoint(self, path: Any, map_location: Any = "cpu", weights_only: bool | None = True) -> dict[str, Any]:
        """Load the whole content of a checkpoint.

        Raises:
            UserError: as `src.checkpoint.read_checkpoint` does.
        """
        return read_checkpoint(path)
