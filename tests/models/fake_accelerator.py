"""Training steps on a device without memory, in a separate process, because the device remains registered.

Tensors of torch's FakeTensorMode have a shape, a type and a device, but no numbers. An operation that would wait for a
number of the device (`.item()`, `if tensor:`, `nonzero`) therefore raises an error, and so does an operation on tensors
of two devices. The script prints the errors as JSON, {kind: {name: error or null}}.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.library import Library
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from torchmetrics import MetricCollection

from src.data.padded_batches import Batch
from src.lit import LitClassifier
from src.models.attention.query import QueryAttention
from src.models.classifier import Classifier
from src.models.component import Encoded
from src.models.loss import BinaryCrossEntropy, CrossEntropy, Loss
from tests.models.combinations import ATTENTIONS, DIM, ENCODERS, LOGITS, POOLINGS, choices, component, compose

DEVICE = "fake"
TEXTS, TOKENS = 2, 3


class OneDevice(TorchDispatchMode):
    """Raises an error if an operation on a tensor of the accelerator has an input or output on the CPU.

    Inputs without dimensions may be on the CPU, because kernels receive them as numbers. FakeTensorMode alone allows
    copies between devices and indices on the CPU.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs, result)) if isinstance(leaf, Tensor)]
        devices = {tensor.device.type for tensor in tensors if tensor.dim() or tensor.device.type != "cpu"}
        outputs = {leaf.device.type for leaf in tree_leaves(result) if isinstance(leaf, Tensor)}
        if DEVICE in devices and len(devices | outputs) > 1:
            raise RuntimeError(f"{func} works on two devices: {', '.join(sorted(devices | outputs))}")
        return result


def batch() -> Batch:
    tokens = torch.ones(TEXTS, TOKENS, dtype=torch.int64, device=DEVICE)
    labels = torch.ones(TEXTS, dtype=torch.int64, device=DEVICE)
    return Batch(tokens, tokens.bool(), labels, labels)


class AllPoolings(nn.Module):
    """All poolings of the same states, concatenated, and a linear head."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.poolings = nn.ModuleList(component("pooling", name, input_dim) for name in POOLINGS)
        self.head = nn.Linear(sum(pooling.output_dim for pooling in self.poolings), LOGITS)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.head(torch.cat([pooling(encoded) for pooling in self.poolings], -1))


def train(model: nn.Module, loss: Loss, logits: Callable[[Batch], Iterable[Tensor]]) -> None:
    """Train one step; its loss and gradients must be on the accelerator.

    Args:
        model: the model, on the accelerator.
        loss: the loss of each tensor of logits; the losses are added.
        logits: computes the tensors of logits of a batch.
    """
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    texts = batch()
    loss.to(DEVICE)
    with OneDevice():
        value = torch.stack([loss(output, texts.labels.repeat(len(output) // TEXTS)) for output in logits(texts)]).sum()
        value.backward()
        optimizer.step()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert gradients
    assert {tensor.device.type for tensor in (value, *gradients)} == {DEVICE}


def compute(name: str, component: Callable[..., Encoded], *args: Any) -> Encoded:
    """Return the output of a component; an error message starts with its name."""
    try:
        return component(*args)
    except Exception as error:
        raise RuntimeError(f"{name}: {type(error).__name__}: {error}") from error


def join(outputs: list[Encoded]) -> list[Encoded]:
    """Concatenate outputs of the same size into one batch, because components depend only on the tensors."""
    sizes = {output.states.shape[1:] for output in outputs}
    groups = [[output for output in outputs if output.states.shape[1:] == size] for size in sizes]
    return [Encoded(*map(torch.cat, zip(*group, strict=True))) for group in groups]


def train_combinations() -> None:
    """Train each encoder, each attention mechanism after all encoders, and each pooling after all of these."""
    with torch.device(DEVICE):  # only while building: in a step, a component must specify the device of new tensors
        models = {name: compose(encoder=name, dropout=0.3) for name in ENCODERS}
        dims: set[Any] = {model.encoder.output_dim for model in models.values()}
        attentions = {
            (name, dim): component("attention", name, dim, dropout=0.3) for name in ATTENTIONS for dim in dims
        }
        poolings = {dim: AllPoolings(dim) for dim in {attention.output_dim for attention in attentions.values()}}
    encoders = [module for model in models.values() for module in (model.embedding, model.encoder)]

    def encode(model: Classifier, texts: Batch) -> Encoded:
        return model.encode(model.embed(texts.tokens, texts.mask), texts.mask)

    def logits(texts: Batch) -> Iterator[Tensor]:
        attended = [
            compute(name, attention, encoded)
            for encoded in join([compute(name, encode, model, texts) for name, model in models.items()])
            for (name, dim), attention in attentions.items()
            if dim == encoded.states.shape[2]
        ]
        for encoded in join(attended):
            yield poolings[encoded.states.shape[2]](encoded)

    loss = CrossEntropy([1] * LOGITS, label_smoothing=0.1, class_weights=[2.0] * LOGITS)
    train(nn.ModuleList([*encoders, *attentions.values(), *poolings.values()]), loss, logits)


def train_choice(group: str, choice: str) -> None:
    encoder = "transformer" if choice == "rotary" else "identity"
    with torch.device(DEVICE):
        model = compose(encoder=encoder, dropout=0.3, **{group: choice})
        model.head = component("head", choice if group == "head" else "linear", model.pooling.output_dim, 1)
    loss = BinaryCrossEntropy([1, 1], label_smoothing=0.1, class_weights=[2.0, 3.0])
    train(model, loss, lambda texts: [model(texts.tokens, texts.mask)])


def training_step() -> None:
    """Run Lightning's training step with the metrics of training; values are logged once per epoch, so not here."""
    with torch.device(DEVICE):
        model = compose(encoder="bilstm", attention="luong_general")
    with unset_fake_temporarily():  # it copies its metrics, and fake tensors cannot be copied usefully
        module: Any = LitClassifier(
            model, CrossEntropy([1] * LOGITS), LOGITS, MetricCollection({}), torch.optim.Adam, lambda *_: None, {}
        )
    for metric in (module.train_acc, module.train_loss):
        metric._device = torch.device(DEVICE)
        for name, default in metric._defaults.items():
            metric._defaults[name] = torch.zeros(default.shape, dtype=default.dtype, device=DEVICE)
            setattr(metric, name, torch.zeros(default.shape, dtype=default.dtype, device=DEVICE))
    module.log = lambda *args, **options: None
    texts = batch()
    with OneDevice():
        module.training_step(texts, 0).backward()


class MistakenAttention(QueryAttention):
    """An attention mechanism that waits for the device or uses another device."""

    def __init__(self, input_dim: int, mistake: Callable[[Tensor], Any]) -> None:
        super().__init__(input_dim)
        self.mistake = mistake

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        self.mistake(keys)
        return keys.sum(-1)


MISTAKES: dict[str, Callable[[Tensor], Any]] = {
    "item": lambda keys: keys.sum().item(),
    "tolist": lambda keys: keys.tolist(),
    "if": lambda keys: 0 if keys.sum() > 0 else 1,
    "int": lambda keys: int(keys.sum()),
    "nonzero": lambda keys: keys.nonzero(),
    "boolean index": lambda keys: keys[keys > 0],
    "numpy": lambda keys: keys.detach().numpy(),
    "cpu": lambda keys: keys.cpu(),
    "equal": lambda keys: torch.equal(keys, keys),
    "unique": lambda keys: keys.unique(),
    "no device": lambda keys: keys * torch.arange(keys.shape[2]),
    "index on the CPU": lambda keys: keys[:, torch.arange(keys.shape[1])],
}


def train_with_mistake(mistake: Callable[[Tensor], Any]) -> None:
    with torch.device(DEVICE):
        model = compose(attention="uniform")
        model.attention = MistakenAttention(DIM, mistake)
    train(model, CrossEntropy([1] * LOGITS), lambda texts: [model(texts.tokens, texts.mask)])


def fused_gru_cell(
    inputs: Tensor, hiddens: Tensor, state: Tensor, input_bias: Tensor | None, hidden_bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    return state.new_empty(state.shape), state.new_empty(len(state), 5 * state.shape[1])


def fused_gru_cell_backward(gradient: Tensor, workspace: Tensor, has_bias: bool) -> tuple[Tensor | None, ...]:
    texts, dim = gradient.shape
    gates, biases = ([gradient.new_empty(*size, 3 * dim) for _ in range(2)] for size in ((texts,), ()))
    return (*gates, gradient.new_empty(texts, dim), *(biases if has_bias else (None, None)))


def error_of(step: Callable[..., None], *args: Any) -> str | None:
    """Return the error of a step on the accelerator; None if it succeeds."""
    try:
        step(*args)
    except Exception as error:  # a component may raise any error
        return f"{type(error).__name__}: {error}"
    return None


def main() -> None:
    _setup_privateuseone_for_python_backend(DEVICE)
    warnings.simplefilter("ignore")
    library = Library("aten", "IMPL")  # torch does not define the output shapes of its fused GRU cell
    library.impl("_thnn_fused_gru_cell", fused_gru_cell, "Meta")
    library.impl("_thnn_fused_gru_cell_backward", fused_gru_cell_backward, "Meta")
    choices_of = {"embedding": ["learned", "ngrams", "glove"], "position": choices("position"), "head": choices("head")}
    with FakeTensorMode():
        errors = {
            "combinations": {"all": error_of(train_combinations)},
            "choices": {
                f"{group}={choice}": error_of(train_choice, group, choice)
                for group, names in choices_of.items()
                for choice in names
            },
            "training_step": {"bilstm": error_of(training_step)},
            "mistakes": {name: error_of(train_with_mistake, mistake) for name, mistake in MISTAKES.items()},
        }
    json.dump(errors, sys.stdout)


if __name__ == "__main__":
    main()
