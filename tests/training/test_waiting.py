"""No training step waits for its device, so that all can be recorded as CUDA graphs.

On the device `meta`, tensors have shapes, but no values: whatever needs a value fails there, such as `item()`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from heedful.data.padded_batches import Inputs
from tests.models.combinations import ATTENTIONS, ENCODERS, POOLINGS, choices, compose, texts
from tests.training import kinds
from tests.training.test_script import make

GROUPS = ("embedding", "position", "normalizer", "head")
COMPONENTS = [("encoder", name) for name in ENCODERS] + [("attention", name) for name in ATTENTIONS]
COMPONENTS += [("pooling", name) for name in POOLINGS] + [(group, name) for group in GROUPS for name in choices(group)]
NEED = {"label": {"attention": "label"}, "rotary": {"encoder": "transformer"}}  # what a component needs of others
IN_A_RUN = ("pretrained", "ngrams")  # embeddings that need a model or the n-grams of texts


class Watch(TorchDispatchMode):
    """Refuses copies between host and device, and assignments of tensors by masks, whose places a GPU must count first.

    Tensors with a single number on the CPU are arguments of kernels, not copied.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [value for value in tree_leaves((args, kwargs, result)) if isinstance(value, Tensor)]
        devices = {value.device.type for value in tensors if value.dim() or "copy" in func.name()}
        assigns = "index_put" in func.name() and any(value.dtype == torch.bool for value in tree_leaves(args[1]))
        assigns = assigns and args[2].numel() > 1  # a single number is assigned everywhere under the mask
        if len(devices) > 1 or assigns:
            raise AssertionError(f"{func} waits for the device")
        return result


def run(loss: Callable[[Inputs], Tensor], module: nn.Module, inputs: Inputs) -> None:
    """Compute a loss and its gradients on the device `meta`."""
    module.to("meta").train()
    parameters = [each for each in module.parameters() if each.requires_grad]
    on_meta = Inputs._make(None if part is None else part.to("meta") for part in inputs)
    with Watch():
        torch.autograd.grad(loss(on_meta), parameters, allow_unused=True)


@pytest.mark.parametrize(("group", "name"), [pair for pair in COMPONENTS if pair[1] not in IN_A_RUN])
def test_no_component_waits(group: str, name: str) -> None:
    if name in ("sparsemax", "entmax15"):
        pytest.importorskip("entmax")
    model = compose(dropout=0.3, **{"attention": "bahdanau", **NEED.get(name, {}), group: name})
    run(lambda inputs: model(inputs).logsumexp(1).sum(), model, texts())


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_no_step_of_a_training_waits(kind: str, tmp_path: Path) -> None:
    _, data, module = make(tmp_path, *kinds.options(kind, tmp_path))
    inputs, targets, _ = next(iter(data.train_dataloader()))
    targets = targets.to("meta")
    run(lambda own: module.compute_step(own, targets).loss, module, inputs)


@pytest.mark.parametrize(
    "waits",
    [
        lambda tensor: tensor.sum().item(),
        lambda tensor: tensor[tensor > 0],
        lambda tensor: tensor.clone().__setitem__(tensor > 0, tensor),
        lambda tensor: tensor + torch.ones(3).to(tensor.device),
        lambda tensor: tensor[torch.tensor([2, 0])],
    ],
)
def test_what_waits_is_found(waits: Callable[[Tensor], object]) -> None:
    with pytest.raises((AssertionError, NotImplementedError, RuntimeError)), Watch():
        waits(torch.ones(3, device="meta"))
