"""A check that components, which may be a user's own classes, keep the rules of their kinds."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from heedful.base.errors import UserError, name_file
from heedful.data.padded_batches import Inputs
from heedful.models.attention.query import QueryAttention
from heedful.models.classifier import Classifier
from heedful.models.component import (
    Attention,
    Component,
    Embedding,
    Encoded,
    Encoder,
    Head,
    Position,
    TokenAttention,
    masked_mean,
    zero_padding,
)
from heedful.models.loss import Loss
from heedful.models.sublayer import AttentionSublayer
from heedful.tasks.task import Task

SHORT, LONG = 7, 17  # padded lengths of the two batches
TOLERANCE = 1e-3  # largest difference of equal values, as a share of the largest value; float32 differs far less
USE_MASK = "use the mask, as masked_softmax, masked_mean and zero_padding in heedful.models.component do"


def check_component(
    component: Component, input_dim: int, num_logits: int = 2, *, max_length: int = LONG, device: Any = "cpu"
) -> None:
    """Raise a UserError that names the class and the rule if a component breaks a rule of its kind.

    In evaluation mode, the component gets three texts, of which the last has no tokens, and the same texts with more
    padding beside a longer text. In training mode without dropout, a copy of it gets the three texts with and without
    more padding, and each of its parameters must have a gradient. Neither the component nor torch's random state is
    changed.

    Args:
        input_dim: number of features of the input; of an embedding, the number of tokens in the vocabulary.
        max_length: maximum number of tokens of a text.
    """
    require_output_dim(component)
    long, random, device = min(LONG, max_length), torch.Generator().manual_seed(0), torch.device(device)
    short = max(1, long * SHORT // LONG)
    lengths = [short, (short + 1) // 2, 0, long - long // 4]
    mask = torch.arange(long) < torch.tensor(lengths).unsqueeze(1)  # 4×L
    if isinstance(component, Embedding):
        inputs = torch.randint(1, max(input_dim, 2), mask.shape, generator=random) * mask
    else:
        inputs = torch.randn(*mask.shape, input_dim, generator=random)
        if not isinstance(component, TokenAttention):  # before which a layer norm may change padding
            inputs = zero_padding(inputs, mask)
    inputs, mask = inputs.to(device), mask.to(device)
    modes = [(module, module.training) for module in component.modules()]
    try:
        with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
            component.eval()
            batches = [(inputs, mask), *[(inputs[:3, :short], mask[:3, :short])] * 2]
            padded, first, again = (dict(_outputs(component, *batch, num_logits)) for batch in batches)
            for method, value in first.items():
                part = padded[method][tuple(map(slice, value.shape))]
                _require_equal(component, method, value, again[method], "is random in evaluation: use self.training")
                rule = f"depends on padding or on other texts of a batch: {USE_MASK}"
                _require_equal(component, method, value, part, rule)
            if component.auxiliary_loss:
                _check_auxiliary_loss(deepcopy(component).train(), *_arguments(component, inputs, mask))
            _check_training(component, [(inputs[:3], mask[:3]), *batches[1:]])
    except UserError:
        raise
    except Exception as error:
        error.add_note(f"{_name(component)} failed in a check with texts of {lengths} tokens")
        raise
    finally:
        for module, mode in modes:
            module.training = mode


def _check_training(component: Component, batches: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Check a component in training mode: the texts with more padding, without it, and the same again."""

    def outputs(inputs: Tensor, mask: Tensor) -> dict[str, Tensor]:
        copy = deepcopy(component).train()
        for module in copy.modules():
            for name in {"p", "dropout"} & vars(module).keys():
                if isinstance(getattr(module, name), float):
                    setattr(module, name, 0.0)
        with torch.enable_grad():
            value: Any = copy(*_arguments(copy, inputs, mask))
            parts = value._asdict() if isinstance(value, Encoded) else {"output": value}
            found = {name: part for name, part in parts.items() if part is not None}
            terms = [term for term in (*found.values(), *copy.auxiliary_loss.values()) if term is not None]
            for term in terms:
                if term.requires_grad:
                    (term * torch.randn_like(term)).sum().backward(retain_graph=True)
        idle = [name for name, weight in copy.named_parameters() if weight.requires_grad and weight.grad is None]
        if idle and mask.shape[1] >= LONG:
            _fail(component, f"{idle[0]} has no gradient: use it in forward, or set requires_grad_(False)")
        return {name: value.detach() for name, value in found.items()}

    padded, first, again = (outputs(*batch) for batch in batches)
    for name, value in first.items():
        if torch.equal(value, again[name]):  # not random
            part = padded[name][tuple(map(slice, value.shape))]
            _require_equal(component, f"forward ({name}) in training", value, part, f"depends on padding: {USE_MASK}")


def check_loss(loss: Loss, task: Task) -> None:
    """Raise a UserError that names the class and the rule if a loss does not suit the task, or breaks a rule.

    It gets random logits with the targets that they predict, that their negatives predict, and that other texts have.
    """
    random, width = torch.Generator().manual_seed(0), loss.num_logits
    for texts in (SHORT, LONG):
        logits = 3 * torch.randn(texts, width, generator=random)
        if (columns := task.probabilities(logits).shape[1]) != len(task.outputs):
            _fail(loss, f"num_logits is {width}, which gives {columns} probabilities, not {len(task.outputs)}")
        right, wrong = (task.scaled(task.predicted(task.probabilities(signed))) for signed in (logits, -logits))
        logits.requires_grad_()
        others = right.roll(1, 0)
        pairs = [(logits, right), (logits, wrong), (logits.repeat(2, 1), torch.cat([wrong] * 2)), (logits, others)]
        try:
            values = [loss(*pair) for pair in pairs]
        except Exception as error:
            error.add_note(f"{_name(loss)} failed in a check with logits {texts}×{width} and {texts} targets")
            raise
        for value in values:
            if not isinstance(value, Tensor) or value.dim() or not value.requires_grad:
                kind = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
                _fail(loss, f"forward returned {kind}; it must be the mean over the texts, a scalar with a gradient")
        value, other, repeated, mixed = (computed.item() for computed in values)
        if abs(repeated - other) > TOLERANCE * max(abs(other), 1e-6):
            change = f"changes from {other:.3g} to {repeated:.3g} if each text occurs twice"
            _fail(loss, f"forward {change}: return the mean over the texts, not the sum")
        if not value < other:
            reason = f"is {value:.3g} where the logits predict the targets, and {other:.3g} where they contradict them"
            _fail(loss, f"forward {reason}: it must be lower for right predictions; is its sign wrong?")
        if not value < mixed:
            reason = f"is {value:.3g} with the targets of the same texts, and {mixed:.3g} with those of other texts"
            _fail(loss, f"forward {reason}: compare each text with its target; do shapes N×1 and N become N×N?")


def _check_auxiliary_loss(component: Component, *arguments: Any) -> None:
    names = tuple(component.auxiliary_loss)
    if wrong := [name for name in names if not name.isidentifier() or name in ("loss", "acc")]:
        _fail(component, f"auxiliary_loss has the name {wrong[0]!r}: use letters, digits and _, but not loss or acc")
    component(*arguments)
    terms = component.auxiliary_loss
    if set(terms) != set(names) or not all(
        isinstance(term, Tensor) and term.dim() == 0 and term.isfinite() for term in terms.values()
    ):
        _fail(component, f"auxiliary_loss is {dict(terms)} after forward in training; each must be a finite scalar")


def is_foreign(part: nn.Module) -> bool:
    """Return whether the class of a component or loss is not part of Heedful."""
    return type(part).__module__.partition(".")[0] != "heedful"


def check_model(model: Classifier, words: int, num_logits: int, max_length: int, device: torch.device) -> None:
    """Check the components of an untrained model whose class, or that of a normalizer in them, is not part of Heedful.

    They are checked on the device of the training; `words` is the number of tokens in the vocabulary.
    """
    dim = words
    for name in ("embedding", "position", "encoder", "attention", "pooling", "head"):
        part: Any = getattr(model, name)
        inner = [part.attention] if isinstance(part, AttentionSublayer) else []
        for component in (*inner, part):
            parts = [component, *(getattr(layer, "normalizer", None) for layer in component.modules())]
            if any(part is not None and is_foreign(part) for part in parts):
                with name_file(f"model.{name}"):
                    check_component(component.to(device), dim, num_logits, max_length=max_length, device=device)
                component.cpu()
        dim = getattr(part, "output_dim", dim)


def require_output_dim(component: Any) -> None:
    """Raise a UserError unless a component has set `output_dim`, which a head lacks."""
    dim = getattr(component, "output_dim", None)
    if not isinstance(component, Head) and (type(dim) is not int or dim < 1):
        _fail(component, f"output_dim is {dim}: set it to the number of output features in the constructor")


def _arguments(component: Component, inputs: Tensor, mask: Tensor) -> tuple[Any, ...]:
    """Return the arguments of `forward` for states N×L×D, or token ids N×L."""
    if isinstance(component, Embedding):
        return (Inputs(inputs, mask),)
    if isinstance(component, Position | Encoder):
        return inputs, mask
    return (inputs[:, 0] if isinstance(component, Head) else Encoded(inputs, mask, masked_mean(inputs, mask)),)


def _outputs(component: Any, inputs: Tensor, mask: Tensor, num_logits: int) -> Iterator[tuple[str, Tensor]]:
    """Check the outputs for one batch, and yield those that must not depend on padding, with the method's name."""
    arguments, (texts, tokens) = _arguments(component, inputs, mask), mask.shape

    def tensor(method: str, value: Any, letters: str, *sizes: int | None, dtype: torch.dtype = torch.float32) -> Any:
        """Check shape, type, device and numbers of an output; in `sizes`, None allows any size."""
        shape = tuple(value.shape) if isinstance(value, Tensor) else ()
        if len(shape) != len(sizes) or any(size not in (None, found) for size, found in zip(sizes, shape, strict=True)):
            required = "×".join(str(size or letter) for size, letter in zip(sizes, letters.split("×"), strict=True))
            kind = f"a tensor of shape {shape}" if isinstance(value, Tensor) else f"a {type(value).__name__}, no tensor"
            _fail(component, f"{method} returned {kind}; the shape must be {letters} = {required}")
        if (value.dtype, value.device.type) != (dtype, mask.device.type):
            kind = f"{value.dtype} on {value.device.type}"
            _fail(component, f"{method} returned {kind}; it must be {dtype} on {mask.device.type}, as the input")
        if not value.isfinite().all():
            empty = " for a text without tokens" if value[mask.any(1)].isfinite().all() else ""
            _fail(component, f"{method} returned NaN or infinite numbers{empty}")
        return value

    def zero(method: str, value: Tensor, real: Tensor) -> None:
        if value.masked_select(~real).any():
            _fail(component, f"{method} must be 0 on padding: {USE_MASK}")

    def encoded(method: str, value: Any, states: int | None) -> Iterator[tuple[str, Tensor]]:
        if not isinstance(value, Encoded):
            _fail(
                component,
                f"{method} returned a {type(value).__name__}; it must return heedful.models.component.Encoded("
                "states N×T×D, mask N×T torch.bool, summary N×D)",
            )
        dim, name = component.output_dim, f"{method} ({{}})".format
        yield name("states"), tensor(name("states"), value.states, "N×T×D", texts, states, dim)
        real = tensor(name("mask"), value.mask, "N×T", *value.states.shape[:2], dtype=torch.bool)
        yield name("mask"), real
        yield name("number of states"), real.sum(1)
        yield name("summary"), tensor(name("summary"), value.summary, "N×D", texts, dim)
        zero(name("states"), value.states, real.unsqueeze(-1))

    if isinstance(component, Embedding | Position):
        states = tensor("forward", component(*arguments), "N×L×D", texts, tokens, component.output_dim)
        zero("forward", states, mask.unsqueeze(-1))
        yield "forward", states
        if isinstance(component, Embedding):
            known = tensor("known", component.known(*arguments), "N×L", texts, tokens, dtype=torch.bool)
            zero("known", known, mask)
            yield "known", known
    elif isinstance(component, Encoder):
        yield from encoded("forward", component(*arguments), tokens)
        for i, layer in enumerate(component.layer_weights(inputs, mask)):
            weights = tensor(f"layer_weights [{i}]", layer, "N×H×L×L", texts, None, tokens, tokens)
            zero(f"layer_weights [{i}]", weights, mask[:, None, None, :])
            yield f"layer_weights [{i}]", weights
    elif isinstance(component, Attention):
        (value,) = arguments
        rows = tokens if component.per_token else None
        if isinstance(component, QueryAttention):
            tensor("score", component.score(value.summary, value.states), "N×T", texts, tokens)
        weights = tensor("weights", component.weights(value), "N×H×T×L", texts, None, rows, tokens)
        if rows is None and weights.shape[2] == tokens > SHORT:
            _fail(component, "weights returned a row for each token: set per_token = True")
        zero("weights", weights, mask[:, None, None, :])
        if component.per_token:
            zero("weights", weights, mask[:, None, :, None])
        sums = weights.sum(-1)  # N×H×T
        sums = sums.masked_select(mask[:, None, :] if component.per_token else mask.any(1)[:, None, None])
        if component.sums_to_one and (sums - 1).abs().max() > TOLERANCE:
            worst = sums[(sums - 1).abs().argmax()]
            remedy = "use masked_softmax, or set sums_to_one = False"
            _fail(component, f"weights returned a row with the sum {worst:.3g}, not 1: {remedy}")
        yield "weights", weights
        output = dict(encoded("forward", component(value), None))
        mixed = dict(encoded("mix", component.mix(value, weights), None))
        rule = "differs from mix(encoded, weights(encoded)): the weights that Heedful shows must be those that it uses"
        for (method, alone), other in zip(output.items(), mixed.values(), strict=True):
            _require_equal(component, method, alone, other, rule)
        yield from output.items()
        if isinstance(component, TokenAttention):
            states = tensor("transform", component.transform(inputs, mask), "N×L×D", *output["forward (states)"].shape)
            states = zero_padding(states, mask)
            _require_equal(component, "transform", states, output["forward (states)"], "differs from forward")
    elif isinstance(component, Head):
        yield "forward", tensor("forward", component(*arguments), "N×num_logits", texts, num_logits)
    else:
        yield "forward", tensor("forward", component(*arguments), "N×D", texts, component.output_dim)


def _require_equal(component: Component, method: str, value: Tensor, other: Tensor, rule: str) -> None:
    """Raise a UserError that names the rule if two tensors differ by more than rounding."""
    if value.shape == other.shape:
        difference = (value.double() - other.double()).abs().max().item() if value.numel() else 0.0
        if difference <= TOLERANCE * max(value.double().abs().max().item() if value.numel() else 0.0, 1e-6):
            return
        rule += f" (a difference of {difference:.3g})"
    _fail(component, f"{method} {rule}")


def _name(component: nn.Module) -> str:
    return f"{type(component).__module__}.{type(component).__qualname__}"


def _fail(component: nn.Module, problem: str) -> None:
    raise UserError(f"{_name(component)}.{problem}")
