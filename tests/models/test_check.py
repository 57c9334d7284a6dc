"""`check_component` accepts all components of Heedful, and names class, method and rule of a wrong one."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.base.errors import UserError
from heedful.models.attention.none import NoAttention
from heedful.models.check import check_component, check_loss, check_model
from heedful.models.component import Encoded, zero_padding
from heedful.models.loss import (
    AbsoluteError,
    BinaryCrossEntropy,
    BinaryRelevance,
    CrossEntropy,
    HuberLoss,
    Loss,
    SquaredError,
    plain_loss,
)
from heedful.models.normalizer import Normalizer
from heedful.models.pooling import Mean
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.regression import Regression
from heedful.tasks.task import Task
from tests.models.combinations import BASIS, DIM, LOGITS, VOCABULARY, choices, component, compose

SIZES: dict[str, tuple[Any, ...]] = {"embedding": (VOCABULARY,), "head": (DIM, LOGITS)}
SHIPPED = [(group, choice) for group in BASIS for choice in choices(group) if choice != "pretrained"]


def create(group: str, choice: str) -> Any:
    return component(group, choice, *SIZES.get(group, (DIM,)))


def check(checked: Any, group: str, max_length: int = 40) -> None:
    check_component(checked, len(VOCABULARY) if group == "embedding" else DIM, LOGITS, max_length=max_length)


@pytest.mark.parametrize(("group", "choice"), SHIPPED)
def test_the_components_of_heedful_keep_the_rules(group: str, choice: str) -> None:
    checked = create(group, choice)
    next(iter(checked.children()), checked).eval()  # as a frozen part may be
    modes, random = [module.training for module in checked.modules()], torch.get_rng_state()
    check(checked, group)
    check(checked, group, max_length=1)
    assert [module.training for module in checked.modules()] == modes
    assert torch.equal(torch.get_rng_state(), random)


def softmax(encoded: Encoded) -> Tensor:
    return encoded.states.sum(-1).softmax(-1)[:, None, None]


def sigmoid(encoded: Encoded) -> Tensor:
    return (encoded.states.sum(-1).sigmoid() * encoded.mask)[:, None, None]


def infinite(encoded: Encoded) -> Tensor:
    return encoded.states.sum(-1).masked_fill(~encoded.mask, -torch.inf).softmax(-1)[:, None, None]


def random_pooling(encoded: Encoded) -> Tensor:
    return nn.functional.dropout(encoded.summary, 0.5)


def every_second(states: Tensor, mask: Tensor) -> Encoded:
    return Encoded(states[:, ::2], mask[:, ::2], states[:, 0])


def last_column(states: Tensor, mask: Tensor) -> Encoded:
    return Encoded(states, mask, states.cumsum(1)[:, -1] / mask.shape[1])


def moved(encoded: Encoded) -> Encoded:
    return encoded._replace(states=zero_padding(encoded.states.flip(-1), encoded.mask))


WRONG: list[tuple[str, str, dict[str, Any], str]] = [  # group, choice, its mistakes, message
    ("embedding", "learned", {"forward": lambda i: torch.ones(*i.ids.shape, DIM)}, "forward must be 0 on padding"),
    ("embedding", "learned", {"forward": lambda i: i.ids}, "shape (4, 17); the shape must be N×L×D = 4×17×12"),
    ("embedding", "learned", {"known": lambda i: i.ids == 0}, "known must be 0 on padding"),
    ("embedding", "learned", {"known": lambda i: i.ids.float()}, "known returned torch.float32 .* torch.bool"),
    ("position", "none", {"forward": lambda s, m: s / m.shape[1]}, "forward depends on padding .* use the mask"),
    ("position", "none", {"forward": lambda s, m: s + 1}, "forward must be 0 on padding"),
    ("position", "none", {"forward": lambda s, m: s.double()}, "torch.float64 on cpu; it must be torch.float32"),
    ("position", "none", {"output_dim": None}, "output_dim is None: set it"),
    ("encoder", "identity", {"forward": every_second}, "(states) returned .* (4, 9, 12); .* N×T×D = 4×17×12"),
    ("encoder", "identity", {"forward": last_column}, "forward (summary) depends on padding"),
    ("encoder", "identity", {"forward": lambda s, m: Encoded(s, m.float(), s[:, 0])}, "(mask) .* torch.bool"),
    (
        "encoder",
        "identity",
        {"layer_weights": lambda s, m: [torch.ones(len(m), 1, *m.shape[1:] * 2)]},
        "layer_weights .* 0 on padding",
    ),
    ("attention", "uniform", {"weights": lambda encoded: None}, "weights returned a NoneType, no tensor"),
    ("attention", "uniform", {"weights": softmax}, "weights must be 0 on padding"),
    ("attention", "uniform", {"weights": sigmoid}, "a row with the sum .*, not 1: .* sums_to_one = False"),
    ("attention", "uniform", {"weights": infinite}, "weights returned NaN .* for a text without tokens"),
    ("attention", "uniform", {"per_token": True}, "(4, 1, 1, 17); the shape must be N×H×T×L = 4×H×17×17"),
    ("attention", "uniform", {"score": lambda query, keys: keys[:, :1, 0]}, "(4, 1); the shape must be N×T = 4×17"),
    ("attention", "none", {"per_token": False}, "weights returned a row for each token: set per_token"),
    ("attention", "none", {"forward": tuple}, "forward returned a tuple; .* return heedful.models.component.Encoded"),
    ("attention", "none", {"forward": moved}, "forward (states) differs from mix(encoded, weights(encoded))"),
    ("attention", "simple_self", {"transform": lambda s, m: s}, "differs from"),
    ("pooling", "mean", {"forward": lambda encoded: encoded.states.mean(1)}, "forward depends on padding"),
    ("pooling", "mean", {"forward": random_pooling}, "forward is random in evaluation"),
    ("pooling", "mean", {"forward": lambda encoded: encoded.states}, "(4, 17, 12); the shape must be N×D = 4×12"),
    ("head", "linear", {"forward": lambda features: features}, "(4, 12); the shape must be N×num_logits = 4×3"),
    ("head", "linear", {"forward": lambda f: f[:, :3] - f[:, :3].mean(0)}, "depends on padding or on other texts"),
]


@pytest.mark.parametrize(("group", "choice", "mistakes", "message"), WRONG)
def test_a_broken_rule_is_named(group: str, choice: str, mistakes: dict[str, Any], message: str) -> None:
    wrong = create(group, choice)
    for name, value in mistakes.items():
        setattr(wrong, name, value)
    message = message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(UserError, match=rf"{type(wrong).__module__}\.{type(wrong).__name__}\..*{message}"):
        check(wrong, group)


class Normalized(Mean):
    """A mean of states that are normalized, over padding too in training."""

    def __init__(self, input_dim: int) -> None:
        super().__init__(input_dim)
        self.norm = nn.BatchNorm1d(input_dim)

    def forward(self, encoded: Encoded) -> Tensor:
        states = self.norm(encoded.states.transpose(1, 2)).transpose(1, 2)
        return super().forward(encoded._replace(states=zero_padding(states, encoded.mask)))


class Detached(Mean):
    def __init__(self, input_dim: int) -> None:
        super().__init__(input_dim)
        self.scale = nn.Parameter(torch.ones(input_dim))

    def forward(self, encoded: Encoded) -> Tensor:
        return super().forward(encoded) * self.scale.detach()


@pytest.mark.parametrize(
    ("cls", "message"),
    [(Normalized, r"forward \(output\) in training depends on padding"), (Detached, "scale has no gradient: use it")],
)
def test_a_component_keeps_the_rules_in_training(cls: type[Mean], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check(cls(DIM), "pooling")


CLASSES = Multiclass(("a", "b", "c"))
LOSSES: list[tuple[Task, Loss]] = [
    *((CLASSES, CrossEntropy([7, 2, 1], **options)) for options in ({}, {"label_smoothing": 0.3})),
    (CLASSES, CrossEntropy([7, 2, 1], class_weights="balanced")),
    (Multiclass(("a", "b")), BinaryCrossEntropy([2, 3], class_weights=[1.0, 3.0])),
    *((Multilabel(CLASSES.classes), BinaryRelevance([7, 2, 1], pos_weight=weight)) for weight in (None, 5.0)),
    *((Regression(mean=5.0, scale=3.0), cls([1])) for cls in (SquaredError, AbsoluteError, HuberLoss)),
]


@pytest.mark.parametrize(("task", "loss"), LOSSES)
def test_the_losses_of_heedful_keep_the_rules(task: Task, loss: Loss) -> None:
    check_loss(loss, task)


@pytest.mark.parametrize("task", [CLASSES, Multilabel(CLASSES.classes), Regression()])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda loss, texts: -loss, "forward is .* it must be lower for right predictions; is its sign wrong"),
        (lambda loss, texts: loss * texts, "forward changes from .* if each text occurs twice: return the mean"),
        (lambda loss, texts: loss.repeat(texts), r"forward returned a tensor of shape \(7,\); it must be the mean"),
        (lambda loss, texts: loss.detach(), ".* a scalar with a gradient"),
        (lambda loss, texts: loss.item(), "forward returned float; it must be the mean"),
    ],
)
def test_a_wrong_loss_is_named(task: Task, change: Any, message: str) -> None:
    wrong = plain_loss(task, [1] * len(task.outputs))
    right = wrong.forward
    wrong.forward = lambda logits, labels: change(right(logits, labels), len(logits))  # type: ignore[method-assign]
    with pytest.raises(UserError, match=rf"{type(wrong).__name__}\.{message}"):
        check_loss(wrong, task)


def test_a_loss_that_compares_all_pairs_of_texts_is_named() -> None:
    wrong = SquaredError([1])
    wrong.forward = lambda logits, targets: ((logits - targets) ** 2).mean()  # type: ignore[method-assign]
    with pytest.raises(UserError, match=r"is .* with the targets of the same texts, and .* do shapes N×1 and N become"):
        check_loss(wrong, Regression())


@pytest.mark.parametrize(("width", "found"), [(1, 2), (5, 5)])
def test_a_loss_has_the_width_of_the_task(width: int, found: int) -> None:
    wrong = CrossEntropy([1, 1, 1])
    wrong.num_logits = width
    with pytest.raises(UserError, match=f"num_logits is {width}, which gives {found} probabilities, not 3"):
        check_loss(wrong, CLASSES)


def test_an_attention_may_declare_that_its_rows_do_not_sum_to_one() -> None:
    attention = create("attention", "uniform")
    attention.weights, attention.sums_to_one = sigmoid, False
    check(attention, "attention")


class Reversed(NoAttention):
    """A class from outside Heedful, whose output is not that of its weights."""

    def forward(self, encoded: Encoded) -> Encoded:
        return moved(encoded)


@pytest.mark.parametrize(
    ("declared", "set_in_training", "message"),
    [
        ({"penalty": None}, {"penalty": torch.tensor(2.0)}, None),
        ({"acc": None}, {"acc": torch.tensor(2.0)}, "auxiliary_loss has the name 'acc': use"),
        ({"penalty": None}, {"penalty": None}, "auxiliary_loss is {'penalty': None} after forward in training"),
        ({"penalty": None}, {"penalty": torch.ones(3)}, "auxiliary_loss is .* each must be a finite scalar"),
        ({"penalty": None}, {"penalty": torch.tensor(torch.inf)}, "auxiliary_loss is .* each must be a finite scalar"),
        ({"penalty": None}, {"fine": torch.tensor(2.0)}, "auxiliary_loss is .* each must be a finite scalar"),
    ],
)
def test_an_auxiliary_loss_is_a_finite_scalar_in_training(declared, set_in_training, message) -> None:
    class Penalized(Mean):
        def forward(self, encoded: Encoded) -> Tensor:
            if self.training:
                self.auxiliary_loss = set_in_training
            return super().forward(encoded)

    pooling = Penalized(DIM)
    pooling.auxiliary_loss = declared
    with nullcontext() if message is None else pytest.raises(UserError, match=message):
        check(pooling, "pooling")
    assert pooling.auxiliary_loss == declared and pooling.training


def test_only_components_from_outside_heedful_are_checked_in_a_model() -> None:
    model = compose(encoder="bigru", pooling="mean_max")
    model.attention = NoAttention(DIM)
    model.attention.forward = moved  # type: ignore[method-assign]
    arguments: Any = (len(VOCABULARY), LOGITS, 40, torch.device("cpu"))
    check_model(model, *arguments)
    model.attention = Reversed(DIM)
    with pytest.raises(UserError, match=r"^model\.attention: tests\.models\.test_check\.Reversed\.forward"):
        check_model(model, *arguments)


class Exponential(Normalizer):
    def normalize(self, scores: Tensor, mask: Tensor, dim: int) -> Tensor:
        return scores.exp()


def test_a_normalizer_is_checked_in_the_attention_of_heedful() -> None:
    model = compose(attention="bahdanau")
    Exponential().attach(model.encoder, model.attention)
    with pytest.raises(UserError, match=r"^model\.attention: .*\.weights returned a row with the sum .*, not 1"):
        check_model(model, len(VOCABULARY), LOGITS, 40, torch.device("cpu"))


def test_an_error_of_the_component_keeps_its_traceback_and_names_the_class() -> None:
    pooling = create("pooling", "mean")
    pooling.forward = lambda encoded: encoded.states @ torch.ones(5)
    with pytest.raises(RuntimeError) as caught:
        check(pooling, "pooling")
    assert caught.value.__notes__ == [
        "heedful.models.pooling.Mean failed in a check with texts of [7, 4, 0, 13] tokens"
    ]
