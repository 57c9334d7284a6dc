"""How Lightning reads checkpoints: through `src.checkpoint`, so that no damaged one is trained on or tested."""

from typing import Any

from lightning_fabric.plugins import TorchCheckpointIO

from src.checkpoint import read_checkpoint


class ValidatedCheckpointIO(TorchCheckpointIO):
    """Lightning's own, but for loading: only plain values and tensors, only validated files."""

    def load_checkpoint(self, path: Any, map_location: Any = "cpu", weights_only: bool | None = True) -> dict[str, Any]:
        """Everything that the checkpoint holds.

        Raises:
            UserError: as `src.checkpoint.read` does.
        """
        return read_checkpoint(path)
