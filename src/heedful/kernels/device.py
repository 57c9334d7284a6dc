"""Work on a GPU beside the host: copies that nobody waits for, and two computations at once."""

from collections.abc import Callable
from functools import cache

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


def at_once(
    first: Callable[[Tensor], Tensor], second: Callable[[Tensor], Tensor], inputs: Tensor
) -> tuple[Tensor, Tensor]:
    """Return `first(inputs)` and `second(inputs)`; a GPU computes both at once, also their gradients.

    Autograd runs the backward pass of an operation on the stream of its forward pass.
    """
    if not inputs.is_cuda or torch.compiler.is_compiling():
        return first(inputs), second(inputs)
    stream, main = _side_stream(inputs.device), torch.cuda.current_stream(inputs.device)
    stream.wait_stream(main)
    with torch.cuda.stream(stream):
        inputs.record_stream(stream)
        other = second(inputs)
    one = first(inputs)
    main.wait_stream(stream)
    other.record_stream(main)
    return one, other


@cache
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
