"""From flat token arrays to padded batches: the one truncation rule and the one gather."""

from dataclasses import dataclass

import numpy as np
import torch

from src.models.types import Batch

PAD_ID = 0  # of every tokenizer of ours
DIGITS = 5  # binary ones that a batch's width keeps: at most a 16th of it is padding for all


@dataclass(frozen=True)
class Window:
    """Which tokens of a text a model sees: at most `max_length` (≥ 1), the `keep`="first" or "last" ones."""

    max_length: int
    keep: str

    def __post_init__(self) -> None:
        if self.max_length < 1:
            raise ValueError(f"max_length={self.max_length}: at least 1 token must be kept")
        if self.keep not in ("first", "last"):
            raise ValueError(f"keep={self.keep!r}: must be 'first' or 'last'")

    def spans(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Offsets n+1 of whole texts → start n and length n of what is kept of each, int64."""
        whole = np.diff(offsets)
        lengths = np.minimum(whole, self.max_length)
        starts = offsets[:-1] if self.keep == "first" else offsets[1:] - lengths
        return starts, lengths

    def width(self, longest: int) -> int:
        """How wide to make a batch whose longest text has so many tokens: as few widths as padding makes cheap.

        Kernels prepare for every shape that they have not met, and keep what they prepared: some 110 widths up to
        1,000 tokens take less memory than 1,000, gigabytes in bf16.
        """
        step = 1 << max(0, longest.bit_length() - DIGITS)
        return min(-(-longest // step) * step, self.max_length)


class Cutter:
    """Cuts padded batches from the flat tokens of one split, with no Python work per text.

    Args:
        tokens: flat int32, all texts one after another, untruncated.
        offsets: n+1 int64; text i is `tokens[offsets[i]:offsets[i + 1]]`.
        labels: n int64.
        window: the truncation rule.
        device: where the arrays live and the batches come out.
    """

    def __init__(
        self,
        tokens: np.ndarray,
        offsets: np.ndarray,
        labels: np.ndarray,
        window: Window,
        device: torch.device | str = "cpu",
    ) -> None:
        self.window = window
        self.starts, self.lengths = window.spans(offsets)  # on the host: no waiting for a device to size a batch
        some = tokens if len(tokens) else np.array([PAD_ID], dtype=np.int32)  # padding must read one
        self.tokens = torch.from_numpy(some).to(device)
        self.labels = torch.from_numpy(labels).to(device)

    def __len__(self) -> int:
        return len(self.lengths)

    def __call__(self, rows: np.ndarray) -> Batch:
        """The texts of these rows (N int64), padded to the longest or little more, and to one token at least."""
        device = self.tokens.device
        width = self.window.width(int(self.lengths[rows].max(initial=1)))
        where = np.stack([rows, self.starts[rows], self.lengths[rows]])
        index, starts, lengths = torch.from_numpy(where).to(device)
        steps = torch.arange(width, device=device)  # L
        mask = steps < lengths.unsqueeze(1)  # N×L
        at = (starts.unsqueeze(1) + steps) * mask  # N×L; padding reads any token, which is not kept
        return Batch(self.tokens[at].long().masked_fill_(~mask, PAD_ID), mask, self.labels[index], index)
