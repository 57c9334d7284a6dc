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
from heedful.models.loss import BinaryCrossEntropy, CrossEntropy
from tests.models.combinations import LENGTHS, LOGITS, PAIRS, choices, compose, texts
from tests.training import kinds
from tests.training.test_script import make

GROUPS = ("embedding", "position", "normalizer", "pooling", "head")
COMPONENTS = [(group, name) for group in GROUPS for name in choices(group)]
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


@pytest.mark.parametrize(("encoder", "attention"), PAIRS)
def test_no_encoder_and_attention_wait(encoder: str, attention: str) -> None:
    model = compose(encoder=encoder, attention=attention, pooling="mean_max", dropout=0.3)
    options: dict[str, Any] = {"label_smoothing": 0.1, "class_weights": [2.0] * LOGITS}
    loss = CrossEntropy([1] * LOGITS, **options).to("meta")
    labels = torch.zeros(len(LENGTHS), dtype=torch.long, device="meta")
    run(lambda inputs: loss(model(inputs), labels), model, texts())
    with torch.no_grad():
        assert model.weights(Inputs(*(part.to("meta") for part in texts()[:2]))).device.type == "meta"


@pytest.mark.parametrize(("group", "name"), [pair for pair in COMPONENTS if pair[1] not in IN_A_RUN])
def test_no_component_waits(group: str, name: str) -> None:
    if name in ("sparsemax", "entmax15"):
        pytest.importorskip("entmax")
    model = compose(dropout=0.3, logits=1, **{"attention": "bahdanau", **NEED.get(name, {}), group: name})
    loss = BinaryCrossEntropy([1, 1], label_smoothing=0.1, class_weights=[2.0, 3.0]).to("meta")
    labels = torch.zeros(len(LENGTHS), dtype=torch.long, device="meta")
    run(lambda inputs: loss(model(inputs), labels), model, texts())


USUAL = ("weighted", "scaled", "everything")  # which have the parts of the others, which run weekly


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in USUAL else pytest.mark.weekly) for kind in kinds.KINDS]
)
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
