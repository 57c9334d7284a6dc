"""Attention with a single query, the summary of the text: the base class, and mechanisms of one line each."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from heedful.data.padded_batches import Inputs
from heedful.kernels.layers import Dropout
from heedful.models.component import Attention, Encoded, Rate

TaskScaling = Literal["none", "lin"]


class QueryAttention(Attention):
    """One context vector per text: c = Σ_i softmax(score(q, h_i)) h_i over the real states h_i, or another normalizer.

    The query q is the summary of the text. A subclass implements `score`; to add a bias to the scores, it overrides
    `scaled_scores`.

    Args:
        scaled: divide the scores by √D (Vaswani et al. 2017, eq. 1).
        attentional: return tanh(W_c [c; q]) instead of c (Luong et al. 2015, eq. 5).
        task_scaling: lin multiplies the weight of token i in c by s_i = u Σ_d x_id, with its embedding x_i and a
            learned u for each word of the vocabulary (Lin-TaSc; Chrysostomou & Aletras 2021, arXiv 2105.02657). The
            weights that are shown and explained stay those of the normalizer, as in the authors' code.
    """

    has_scores = True

    def __init__(
        self,
        input_dim: int,
        *,
        scaled: bool = False,
        dropout: Rate = 0.0,
        attentional: bool = False,
        task_scaling: TaskScaling = "none",
    ) -> None:
        super().__init__(input_dim)
        self.scale = input_dim**-0.5 if scaled else 1.0
        self.dropout = Dropout(dropout)
        self.combine = nn.Linear(2 * input_dim, input_dim, bias=False) if attentional else None
        self.has_traits = task_scaling == "lin"

    def bind(self, vocabulary: Sequence[str], num_logits: int) -> None:
        if self.has_traits:
            self.word_scales = nn.Embedding(len(vocabulary), 1)  # u
            nn.init.uniform_(self.word_scales.weight, -(len(vocabulary) ** -0.5), len(vocabulary) ** -0.5)

    def traits(self, inputs: Inputs, embeddings: Tensor) -> Tensor:
        """Return the factors s_i of the weights."""
        return self.word_scales(inputs.ids).squeeze(-1) * embeddings.sum(-1)

    @abstractmethod
    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the score of each state for the query: N×D, N×T×D → N×T."""

    def scaled_scores(self, encoded: Encoded) -> Tensor:
        """Return the arguments of the normalizer: N×T. They are the scores, divided by √D if `scaled`."""
        return self.scale * self.score(encoded.summary, encoded.states)

    def weights(self, encoded: Encoded) -> Tensor:
        """Return the weights N×1×1×T."""
        return self.normalize(self.scaled_scores(encoded), encoded.mask)[:, None, None, :]

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        """Return the context vector of each text as a sequence of one state: N×T×D, N×1×1×T → N×1×D."""
        factors = weights[:, 0, 0] if encoded.traits is None else weights[:, 0, 0] * encoded.traits
        context = torch.einsum("nt,ntd->nd", factors, encoded.states)
        if self.combine is not None:
            context = torch.tanh(self.combine(torch.cat([context, encoded.summary], -1)))
        real = encoded.mask.any(1, keepdim=True)  # N×1
        context = context.masked_fill(~real, 0.0)
        return Encoded(context.unsqueeze(1), real, context)

    def forward(self, encoded: Encoded) -> Encoded:
        return self.mix(encoded, self.dropout(self.weights(encoded)))


class UniformAttention(QueryAttention):
    """Equal scores for all tokens, so that the context vector is the mean: the baseline for claims about attention."""

    def __init__(self, input_dim: int, *, dropout: Rate = 0.0, attentional: bool = False) -> None:
        super().__init__(input_dim, dropout=dropout, attentional=attentional)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys.new_zeros(keys.shape[:2])


class LuongDotAttention(QueryAttention):
    """score(q, h) = qᵀ h (Luong et al. 2015, section 3.1, 'dot'; the twenty-model report's eq. 4): no parameters."""

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.einsum("nd,ntd->nt", query, keys)


class LuongGeneralAttention(QueryAttention):
    """score(q, h) = qᵀ W_a h (Luong et al. 2015, section 3.1, 'general'; the twenty-model report's eq. 7)."""

    def __init__(self, input_dim: int, **options: Any) -> None:
        super().__init__(input_dim, **options)
        self.general = nn.Linear(input_dim, input_dim, bias=False)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        projected = query @ self.general.weight  # qᵀ W_a: projects one vector instead of T states
        return torch.einsum("nd,ntd->nt", projected, keys)


class LearnedQueryAttention(QueryAttention):
    """score(h) = uᵀ h with a learned query u instead of the text's summary (Lin et al. 2017, eq. 5, without tanh).

    u has D parameters. It is initialized with zeros, so the initial weights are uniform.
    """

    def __init__(self, input_dim: int, **options: Any) -> None:
        super().__init__(input_dim, **options)
        self.question = nn.Parameter(torch.zeros(input_dim))  # the query u

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys @ self.question
