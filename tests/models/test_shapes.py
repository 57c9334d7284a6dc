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
from src.models.classifier import Classifier
from src.models.component import Embedding, Encoded, Encoder, Pooling
from src.models.encoder.identity import Identity
from src.models.head import LinearHead
from src.models.pooling import Mean
from src.models.position import NoPosition
from src.models.shape_check import check_shapes
from tests.helpers import small_config

D = 11


class ScorePerFeature(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return query.unsqueeze(1) * keys  # N×T×D: the sum over the features is missing


class ScoreWithoutReturn(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Any:
        keys @ query.unsqueeze(-1)


class ProjectWithoutHeads(SelfAttention):
    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return states, states, states


class ScorePerQuery(SelfAttention):
    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return states.unsqueeze(1), states.unsqueeze(1), states.unsqueeze(1)

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return (queries * keys).sum(-1)  # N×H×L


class WeightsWithoutHeads(NoAttention):
    def weights(self, encoded: Encoded) -> Tensor:
        return encoded.mask / encoded.mask.sum(1, keepdim=True)  # N×L


class AttentionOfTuples(NoAttention):
    def forward(self, encoded: Encoded) -> Any:
        return encoded.states, encoded.mask, encoded.summary


class AttentionWithANumericMask(NoAttention):
    def forward(self, encoded: Encoded) -> Encoded:
        return encoded._replace(mask=encoded.mask.float())


class AttentionWithAnotherMask(NoAttention):
    def forward(self, encoded: Encoded) -> Encoded:
        return encoded._replace(states=encoded.states[:, :1])


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


class PositionPooled(NoPosition):
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        return states.sum(1)


class EmbeddingOfFeaturesFirst(Embedding):
    output_dim = D

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return torch.zeros(tokens.shape[0], D, tokens.shape[1])


class Words(Embedding):
    output_dim = D

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return torch.zeros(*tokens.shape, D)


ENCODED = "it must return src.models.component.Encoded(states N×T×D, mask N×T, summary N×D)"
WRONG = [  # component, class, returned value, required value
    ("attention", ScorePerFeature, "score returned a tensor of shape 3×7×11", "N×T = 3×7"),
    ("attention", ScoreWithoutReturn, "score returned a NoneType, not a tensor", "N×T = 3×7"),
    ("attention", ProjectWithoutHeads, "project (queries) returned a tensor of shape 3×7×11", "N×H×L×d = 3×H×7×d"),
    ("attention", ScorePerQuery, "score returned a tensor of shape 3×1×7", "N×H×L×L = 3×1×7×7"),
    ("attention", WeightsWithoutHeads, "weights returned a tensor of shape 3×7", "N×H×T×L = 3×H×T×7"),
    ("attention", AttentionOfTuples, "forward returned a tuple", ENCODED),
    ("attention", AttentionWithANumericMask, "forward returned a mask of torch.float32", "True for a real token"),
    ("attention", AttentionWithAnotherMask, "forward (mask) returned a tensor of shape 3×7", "N×T = 3×1"),
    ("encoder", EncoderOfBothDirections, "forward (states) returned a tensor of shape 3×7×22", "N×T×D = 3×T×11"),
    ("pooling", PoolingOfAll, "forward returned a tensor of shape 3×7×11", "N×D = 3×11"),
    ("head", HeadOfAllTexts, "forward returned a tensor of shape () (a single number)", "N×num_logits = 3×5"),
    ("position", PositionPooled, "forward returned a tensor of shape 3×11", "N×L×D = 3×7×11"),
    ("embedding", EmbeddingOfFeaturesFirst, "forward returned a tensor of shape 3×11×7", "N×L×D = 3×7×11"),
]


def build_model() -> Classifier:
    pooling: Pooling = Mean(D)
    return Classifier(Words(), NoPosition(D), Identity(D), NoAttention(D), pooling, LinearHead(D, 5))


@pytest.mark.parametrize(("group", "kind", "result", "required"), WRONG, ids=[row[1].__name__ for row in WRONG])
def test_a_wrong_shape_is_reported(group: str, kind: Any, result: str, required: str) -> None:
    model = build_model()
    setattr(model, group, kind() if group == "embedding" else kind(D, 5) if group == "head" else kind(D))
    with pytest.raises(UserError) as error:
        check_shapes(model, num_logits=5)
    assert str(error.value).startswith(f"{__name__}.{kind.__name__}.{result}; ")
    assert str(error.value).endswith(required)


def test_correct_shapes_and_other_errors_are_not_reported() -> None:
    model = build_model()
    check_shapes(model, num_logits=5)
    model.head = LinearHead(D + 2, 5)  # in training, its error is more specific
    check_shapes(model, num_logits=5)


def test_a_component_without_output_dim_is_reported() -> None:
    options = [f"model.encoder._target_={__name__}.EncoderWithoutOutputDim", "extras.trusted_modules=[tests]"]
    cfg = small_config(Path("unused"), ["model/encoder=identity", *options])
    message = r"model\.encoder: .*EncoderWithoutOutputDim must set self\.output_dim to an integer, .* value is None"
    with pytest.raises(UserError, match=message):
        build.classifier(cfg, ("<pad>", "<unk>"), 1)
