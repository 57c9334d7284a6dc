"""The base class of attention mechanisms with a single query, the summary of the text."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from src.kernels.dropout import Dropout
from src.models.component import Attention
from src.models.masking import masked_softmax
from src.models.shapes import require_shape
from src.models.types import Encoded


class QueryAttention(Attention):
    """One context vector per text: c = Σ_i softmax(score(q, h_i)) h_i over the real states h_i.

    The query q is the summary of the text.

    A subclass implements `score`; to add a bias to the scores, it overrides `scaled_scores`. This class implements
    masking, softmax, scaling, dropout and Luong's attentional vector.

    Args:
        input_dim: D, number of features of a state and of the summary.
        scaled: divide the scores by √D (Vaswani et al. 2017, eq. 1).
        dropout: probability in [0, 1) of dropping a weight while training.
        attentional: return tanh(W_c [c; q]) instead of c (Luong et al. 2015, eq. 5).

    Raises:
        ValueError: if `dropout` is outside [0, 1).
    """

    def __init__(
        self, input_dim: int, *, scaled: bool = False, dropout: float = 0.0, attentional: bool = False
    ) -> None:
        super().__init__()
        self.output_dim = input_dim
        self.scale = input_dim**-0.5 if scaled else 1.0
        self.dropout = Dropout(dropout)
        self.combine = nn.Linear(2 * input_dim, input_dim, bias=False) if attentional else None

    @abstractmethod
    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the score of each state for the query: N×D, N×T×D → N×T."""

    def scaled_scores(self, encoded: Encoded) -> Tensor:
        """Return the arguments of the softmax: N×T. They are the scores, divided by √D if `scaled`."""
        scores = self.score(encoded.summary, encoded.states)
        require_shape(self, "score", scores, "N×T", encoded.mask.shape)
        return self.scale * scores

    def _row_weights(self, encoded: Encoded) -> Tensor:
        return masked_softmax(self.scaled_scores(encoded), encoded.mask)

    def weights(self, encoded: Encoded) -> Tensor:
        """Return the attention weights N×1×1×T, which sum to 1 over the real states; padding gets 0."""
        return self._row_weights(encoded)[:, None, None, :]

    def forward_with_weights(self, encoded: Encoded) -> tuple[Encoded, Tensor]:
        """Return the context vector of each text as a sequence of one state, N×T×D → N×1×D, and the weights."""
        weights = self._row_weights(encoded)  # N×T
        return self._mix(encoded, self.dropout(weights)), weights[:, None, None, :]

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        return self._mix(encoded, weights[:, 0, 0])

    def _mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        context = torch.einsum("nt,ntd->nd", weights, encoded.states)
        if self.combine is not None:
            joined = torch.cat([context, encoded.summary], -1)  # N×2D
            context = torch.tanh(self.combine(joined))
        real = encoded.mask.any(1, keepdim=True)  # N×1
        context = context.masked_fill(~real, 0.0)
        return Encoded(context.unsqueeze(1), real, context)
