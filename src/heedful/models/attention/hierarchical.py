"""Hierarchical attention: to the words of each sentence, then to the sentences of the text (Yang et al. 2016)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.data.padded_batches import Inputs
from heedful.kernels.layers import Dropout, Linear
from heedful.models.component import Attention, Encoded, Rate, Size
from heedful.models.encoder.recurrent import Recurrent
from heedful.runtime import MARK

ENDERS = frozenset(f".!?…。！？{MARK}")  # the characters of the tokens that end a sentence


class HierarchicalAttention(Attention):
    """v = Σ_i β_i g_i over the sentences i of a text, whose vectors are s_i = Σ_t α_it h_it over the words t.

    α_it = softmax_t(u_wᵀ tanh(W_w h_it + b_w)) (eqs. 5 to 7), g = BiGRU(s_1, s_2, …) (section 2.2, sentence encoder),
    and β_i = softmax_i(u_sᵀ tanh(W_s g_i + b_s)) (eqs. 8 to 10). The weight of a token is β_i α_it. Unlike in the
    paper, the encoder, whose states are the h_it, reads the whole text at once, not each sentence apart.

    A sentence ends at tokens of the characters ENDERS, and at the end of the first text of a pair; the next sentence
    starts at the next other token. So ". . ." is one end, and the points of "3.5" and "U.S." are ends too. All tokens
    after the start of sentence `max_sentences` belong to this sentence. S is the number of sentences, padding included.

    With a normalizer whose weights need not sum to one, the α_it of a sentence are divided by their sum, so that the
    sum of its tokens' weights is β_i. `mix` computes α_it and β_i from the weights; in a sentence without weight, α_it
    are those of the attention.
    """

    has_scores = has_traits = True
    is_ender: Tensor

    def __init__(
        self,
        input_dim: int,
        *,
        hidden_dim: Size = 50,
        attention_dim: Size | None = None,
        max_sentences: Size = 32,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.max_sentences = max_sentences
        self.word_scores = _scores(input_dim, attention_dim)
        self.encoder = Recurrent(input_dim, cell="gru", hidden_dim=hidden_dim, bidirectional=True)
        self.output_dim = self.encoder.output_dim
        self.sentence_scores = _scores(self.output_dim, attention_dim)
        self.dropout = Dropout(dropout)
        self.register_buffer("is_ender", torch.zeros(0, dtype=torch.bool))  # for each word of the vocabulary

    def bind(self, vocabulary: Sequence[str], num_logits: int) -> None:
        self.is_ender = torch.tensor([is_ender(token) for token in vocabulary])

    def traits(self, inputs: Inputs, embeddings: Tensor) -> Tensor:
        """Return the number of each token's sentence, from 0: N×L int64."""
        ends = self.is_ender[inputs.ids]  # N×L
        starts = ends[:, :-1] & ~ends[:, 1:]  # N×(L-1), of all tokens but the first
        if inputs.segments is not None:
            starts = starts | (inputs.segments[:, 1:] > inputs.segments[:, :-1])
        return F.pad(starts.long(), (1, 0)).cumsum(1).clamp(max=self.max_sentences - 1)

    def weights(self, encoded: Encoded) -> Tensor:
        """Return the weights β_i α_it, N×1×1×L."""
        words = self._word_weights(encoded)
        sentences = self._sentence_weights(self._sentences(encoded, words))
        return (sentences.unsqueeze(2) * words).sum(1)[:, None, None]

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        """Return v as one state: N×L×D, N×1×1×L → N×1×D'."""
        by_sentence = weights.squeeze(1) * self._members(encoded)  # N×S×L
        sums = by_sentence.sum(2, keepdim=True)  # β_i: N×S×1
        lowest = torch.finfo(sums.dtype).tiny ** 0.5  # below it, a quotient of weights would not be exact
        words = torch.where(sums > lowest, by_sentence / sums.clamp(min=lowest), self._word_weights(encoded))
        return self._text(self._sentences(encoded, words), sums.squeeze(2))

    def forward(self, encoded: Encoded) -> Encoded:
        if self.redefines(HierarchicalAttention, "weights", "mix"):
            return self.mix(encoded, self.dropout(self.weights(encoded)))
        sentences = self._sentences(encoded, self.dropout(self._word_weights(encoded)))
        return self._text(sentences, self.dropout(self._sentence_weights(sentences)))

    def _members(self, encoded: Encoded) -> Tensor:
        """Return which tokens each sentence has, N×S×L bool."""
        mask = encoded.mask.unsqueeze(1)
        if encoded.traits is None:
            return mask
        count = self.max_sentences  # in an ONNX model; no text has more sentences than tokens
        count = count if torch.onnx.is_in_onnx_export() else min(count, mask.shape[2])
        return (encoded.traits.unsqueeze(1) == torch.arange(count, device=mask.device).unsqueeze(1)) & mask

    def _word_weights(self, encoded: Encoded) -> Tensor:
        """Return α_it, N×S×L."""
        members = self._members(encoded)
        weights = self.normalize(self.word_scores(encoded.states).transpose(1, 2).expand_as(members), members)
        return weights if self.sums_to_one else weights / weights.sum(2, keepdim=True).clamp(min=1e-12)

    def _sentences(self, encoded: Encoded, words: Tensor) -> Encoded:
        """Return the states g_i of the sentences for the weights of their words: N×S×L → N×S×D'."""
        sentences: Encoded = self.encoder(words @ encoded.states, self._members(encoded).any(2))
        return sentences

    def _sentence_weights(self, sentences: Encoded) -> Tensor:
        """Return β_i, N×S."""
        return self.normalize(self.sentence_scores(sentences.states).squeeze(2), sentences.mask)

    def _text(self, sentences: Encoded, weights: Tensor) -> Encoded:
        """Return v as one state for the weights of the sentences: N×S×D', N×S → N×1×D'."""
        context = torch.einsum("ns,nsd->nd", weights, sentences.states)
        return Encoded(context.unsqueeze(1), sentences.mask.any(1, keepdim=True), context)


def _scores(input_dim: int, hidden_dim: int | None) -> nn.Sequential:
    """Return the function uᵀ tanh(W h + b) of states h."""
    hidden = hidden_dim or input_dim
    return nn.Sequential(Linear(input_dim, hidden), nn.Tanh(), nn.Linear(hidden, 1, bias=False))


def is_ender(token: str) -> bool:
    """Return whether a token ends a sentence, without the marks of subwords at the ends of words."""
    letters = set(token.lstrip("Ġ▁").removesuffix("</w>"))
    return bool(letters) and letters <= ENDERS
