"""A component of a user that returns a wrong shape or type is reported with its name."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from src import build
from src.errors import UserError
from src.models.attention.none import NoAttention
from src.models.attention.query import QueryAttention
from src.models.attention.self_attention import SelfAttention
from src.models.component import Encoded, Encoder
from src.models.encoder.identity import Identity
from src.models.head import LinearHead
from src.models.pooling import Mean
from src.models.shapes import check_shapes
from tests.helpers import small_config
from tests.models.combinations import DIM, compose


class ScorePerFeature(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return query.unsqueeze(1) * keys  # N×T×D: the sum over the features is missing


class ScoreWithoutReturn(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Any:
        keys @ query.unsqueeze(-1)


class ProjectWithoutHeads(SelfAttention):
    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return states, states, states


class WeightsWithoutHeads(NoAttention):
    def weights(self, encoded: Encoded) -> Tensor:
        return encoded.mask / encoded.mask.sum(1, keepdim=True)  # N×L


class AttentionOfTuples(NoAttention):
    def forward(self, encoded: Encoded) -> Any:
        return encoded.states, encoded.mask, encoded.summary


class AttentionWithANumericMask(NoAttention):
    def forward(self, encoded: Encoded) -> Encoded:
        return encoded._replace(mask=encoded.mask.float())


class EncoderOfBothDirections(Identity):
    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        states = torch.cat([states, states.flip(1)], -1)
        return Encoded(states, mask, states.mean(1))


class EncoderWithoutOutputDim(Encoder):
    def __init__(self, input_dim: int) -> None:
        super().__init__()

    def forward(self, states: Tensor, mask: Tensor) -> Any: ...


class PoolingOfAll(Mean):
    def forward(self, encoded: Encoded) -> Tensor:
        return encoded.states


class HeadOfAllTexts(LinearHead):
    def forward(self, features: Tensor) -> Tensor:
        return super().forward(features).mean()


ENCODED = "it must return src.models.component.Encoded(states N×T×D, mask N×T, summary N×D)"
WRONG = [  # component, returned value, required value
    ("attention", ScorePerFeature(DIM), "score returned a tensor of shape (3, 7, 12)", "N×T = 3×7"),
    ("attention", ScoreWithoutReturn(DIM), "score returned a NoneType, not a tensor", "N×T = 3×7"),
    ("attention", ProjectWithoutHeads(DIM), "project (queries) returned a tensor of shape (3, 7, 12)", "d = 3×H×7×d"),
    ("attention", WeightsWithoutHeads(DIM), "weights returned a tensor of shape (3, 7)", "N×H×T×L = 3×H×T×7"),
    ("attention", AttentionOfTuples(DIM), "forward returned a tuple", ENCODED),
    ("attention", AttentionWithANumericMask(DIM), "forward returned a mask of torch.float32", "must be torch.bool"),
    ("encoder", EncoderOfBothDirections(DIM), "forward (states) returned a tensor of shape (3, 7, 24)", "3×T×12"),
    ("pooling", PoolingOfAll(DIM), "forward returned a tensor of shape (3, 7, 12)", "N×D = 3×12"),
    ("head", HeadOfAllTexts(DIM, 3), "forward returned a tensor of shape ()", "N×num_logits = 3×3"),
]


@pytest.mark.parametrize(
    ("group", "component", "result", "required"), WRONG, ids=[type(row[1]).__name__ for row in WRONG]
)
def test_a_wrong_shape_is_reported(group: str, component: Any, result: str, required: str) -> None:
    model = compose()
    setattr(model, group, component)
    with pytest.raises(UserError) as error:
        check_shapes(model, num_logits=3)
    assert str(error.value).startswith(f"{__name__}.{type(component).__name__}.{result}; ")
    assert str(error.value).endswith(required)


def test_other_errors_are_not_reported() -> None:
    model = compose()
    model.head = LinearHead(DIM + 2, 3)  # in training, its error is more specific
    check_shapes(model, num_logits=3)


def test_a_component_without_output_dim_is_reported() -> None:
    options = [f"model.encoder._target_={__name__}.EncoderWithoutOutputDim", "extras.trusted_modules=[tests]"]
    cfg = small_config(Path("unused"), ["model/encoder=identity", *options])
    message = r"model\.encoder: .*EncoderWithoutOutputDim must set self\.output_dim to an integer, .* value is None"
    with pytest.raises(UserError, match=message):
        build.classifier(cfg, ("<pad>", "<unk>"), 1)
