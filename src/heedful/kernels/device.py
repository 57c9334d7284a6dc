"""Copies between a GPU and the host that neither waits for."""

import numpy as np
import torch
from torch import Tensor

SHARE = 0.1  # of a GPU's memory, for the tokens of one split


def fits_on_gpu(size: int, device: torch.device) -> bool:
    """Return whether a device is a CUDA GPU, of whose memory `size` bytes are at most a tenth."""
    return device.type == "cuda" and size <= SHARE * torch.cuda.get_device_properties(device).total_memory


def to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Return a copy of an array on a device; a copy to a GPU is started, but not waited for."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


class HostCopy:
    """A copy of a scalar tensor on the host, which is waited for only when it is read."""

    def __init__(self, tensor: Tensor) -> None:
        self._copy = tensor.to("cpu", non_blocking=True)  # from a GPU, into page-locked memory
        self._event = torch.cuda.Event() if tensor.is_cuda else None
        if self._event is not None:
            self._event.record(torch.cuda.current_stream(tensor.device))

    def value(self) -> float:
        if self._event is not None:
            self._event.synchronize()
        return float(self._copy)
