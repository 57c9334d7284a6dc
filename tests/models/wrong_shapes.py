"""Components of a user, each with one wrong output, for tests/models/test_shape_check.py."""

from typing import Any

import torch
from torch import Tensor

from src.models.attention.none import NoAttention
from src.models.attention.query import QueryAttention
from src.models.attention.self_attention import SelfAttention
from src.models.component import Attention, Encoded, Encoder
from src.models.embedding.learned import LearnedEmbedding
from src.models.encoder.identity import Identity
from src.models.head import LinearHead
from src.models.pooling import Mean
from src.models.position import NoPosition


class ScorePerFeature(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return query.unsqueeze(1) * keys  # N×T×D: the sum over the features is missing


class ScorePerText(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return (query.unsqueeze(1) * keys).sum((1, 2))  # N


class ScoreOfAll(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return (query.unsqueeze(1) * keys).sum()


class ScoreTransposed(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.einsum("nd,ntd->tn", query, keys)


class ScoreUnsqueezed(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys @ query.unsqueeze(-1)  # N×T×1


class ScoreWithoutReturn(QueryAttention):
    def score(self, query: Tensor, keys: Tensor) -> Any:
        keys @ query.unsqueeze(-1)


class ScoreReadsNumbers(QueryAttention):
    """It cannot run on the meta device, so its mistake is reported in training."""

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return (query.unsqueeze(1) * keys) / max(1.0, keys.abs().max().item())


class WeightsWithoutHeads(NoAttention):
    def weights(self, encoded: Encoded) -> Tensor:
        return encoded.mask / encoded.mask.sum(1, keepdim=True)  # N×L


class ProjectWithoutHeads(SelfAttention):
    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return states, states, states


class ScorePerQuery(ProjectWithoutHeads):
    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return states.unsqueeze(1), states.unsqueeze(1), states.unsqueeze(1)

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return (queries * keys).sum(-1)  # N×H×L


class AttentionOfTensors(NoAttention):
    def forward(self, encoded: Encoded) -> Any:
        return encoded.states


class AttentionOfTuples(NoAttention):
    def forward(self, encoded: Encoded) -> Any:
        return encoded.states, encoded.mask, encoded.summary


class AttentionWithoutTokens(NoAttention):
    def forward(self, encoded: Encoded) -> Encoded:
        return encoded._replace(states=encoded.summary)


class AttentionWithALongSummary(NoAttention):
    def forward(self, encoded: Encoded) -> Encoded:
        return encoded._replace(summary=encoded.summary.unsqueeze(1))


class AttentionWithANumericMask(NoAttention):
    def forward(self, encoded: Encoded) -> Encoded:
        return encoded._replace(mask=encoded.mask.float())


class AttentionWithAnotherMask(NoAttention):
    def forward(self, encoded: Encoded) -> Encoded:
        return encoded._replace(states=encoded.states[:, :1])


class AttentionWithoutOutputDim(Attention):
    def __init__(self, input_dim: int) -> None:
        super().__init__()

    def weights(self, encoded: Encoded) -> Any: ...
    def mix(self, encoded: Encoded, weights: Tensor) -> Any: ...
    def forward(self, encoded: Encoded) -> Encoded:
        return encoded


class EncoderOfTensors(Identity):
    def forward(self, states: Tensor, mask: Tensor) -> Any:
        return states


class EncoderOfTokensFirst(Identity):
    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        return Encoded(states.transpose(0, 1), mask, states.mean(1))


class EncoderOfBothDirections(Identity):
    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        states = torch.cat([states, states.flip(1)], -1)
        return Encoded(states, mask, states.mean(1))


class EncoderWithoutOutputDim(Encoder):
    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.dim = input_dim

    def forward(self, states: Tensor, mask: Tensor) -> Any: ...


class EncoderWithATextAsOutputDim(Identity):
    def __init__(self, input_dim: int) -> None:
        super().__init__(input_dim)
        self.output_dim = str(input_dim)  # type: ignore[assignment]


class PoolingOfAll(Mean):
    def forward(self, encoded: Encoded) -> Tensor:
        return encoded.states


class PoolingKeepsTheAxis(Mean):
    def forward(self, encoded: Encoded) -> Tensor:
        return encoded.states.mean(1, keepdim=True)


class PoolingOfAnotherSize(Mean):
    width = 2


class PoolingOverFeatures(Mean):
    def forward(self, encoded: Encoded) -> Tensor:
        return encoded.states.mean(-1)


class HeadSqueezed(LinearHead):
    def forward(self, features: Tensor) -> Tensor:
        return super().forward(features).squeeze(-1)


class HeadOfAnotherSize(LinearHead):
    def __init__(self, input_dim: int, num_logits: int, **options: Any) -> None:
        super().__init__(input_dim, 5, **options)


class HeadOfAllTexts(LinearHead):
    def forward(self, features: Tensor) -> Tensor:
        return super().forward(features).mean()


class PositionPooled(NoPosition):
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        return states.sum(1)


class EmbeddingOfFeaturesFirst(LearnedEmbedding):
    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return super().forward(tokens, mask).transpose(1, 2)
