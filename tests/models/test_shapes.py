"""A component that returns a wrong shape or type is reported with the name of its class."""

from collections.abc import Callable
from typing import Any

import pytest

from src.errors import UserError
from src.models.component import Encoded
from src.models.head import LinearHead
from src.models.shapes import check_shapes
from tests.models.combinations import DIM, compose

WRONG: list[tuple[str, str, str, Callable[..., Any], str]] = [  # component, method, its mistake, message
    ("attention", "none", "weights", lambda encoded: None, "NoneType, not a tensor; .* N×H×T×L = 3×H×T×7"),
    ("attention", "none", "weights", lambda encoded: encoded.mask, "tensor of shape (3, 7); .* N×H×T×L = 3×H×T×7"),
    ("attention", "none", "forward", lambda encoded: tuple(encoded), "tuple; it must return src.models.component.Enc"),
    ("attention", "none", "forward", lambda e: e._replace(mask=e.mask.float()), "Encoded; it must .* N×T torch.bool"),
    ("attention", "none", "forward", lambda e: e._replace(states=e.states[:, :1]), "tensor of shape (3, 7); .* 3×1"),
    ("encoder", "identity", "forward", lambda s, m: Encoded(s[:, :, :5], m, s[:, 0]), "(3, 7, 5); .* N×T×D = 3×T×12"),
    ("pooling", "mean", "forward", lambda encoded: encoded.states, "tensor of shape (3, 7, 12); .* N×D = 3×12"),
    ("head", "linear", "forward", lambda features: features.mean(), "tensor of shape (); .* N×num_logits = 3×3"),
    ("position", "none", "forward", lambda states, mask: states.sum(1), "tensor of shape (3, 12); .* N×L×D = 3×7×12"),
]


@pytest.mark.parametrize(("group", "choice", "method", "mistake", "message"), WRONG)
def test_a_wrong_shape_is_reported(group: str, choice: str, method: str, mistake: Any, message: str) -> None:
    model = compose(**{group: choice})
    component = getattr(model, group)
    setattr(component, method, mistake)
    message = message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(UserError, match=rf"{type(component).__name__}\.{method}.* returned an? .*{message}"):
        check_shapes(model, num_logits=3)


def test_other_errors_are_not_reported() -> None:
    model = compose()
    model.head = LinearHead(DIM + 2, 3)  # in training, its error is more specific
    check_shapes(model, num_logits=3)
