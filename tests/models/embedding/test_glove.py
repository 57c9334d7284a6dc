"""GloVe vectors in a model, and the treatment of words without a vector."""

import pytest
import torch
from torch import nn

from heedful.base.errors import UserError
from heedful.data.padded_batches import Inputs
from heedful.models.attention.none import NoAttention
from heedful.models.attention.self_attention import SimpleSelfAttention
from heedful.models.classifier import Classifier
from heedful.models.component import Encoded
from heedful.models.embedding.glove import GloveEmbedding
from heedful.models.encoder.identity import Identity
from heedful.models.pooling import Mean
from heedful.models.position import Index, NoPosition

VOCABULARY = ("<pad>", "<unk>", "red", "xylographic", "price")


def load_embedding(unknown: str) -> GloveEmbedding:
    embedding = GloveEmbedding(VOCABULARY, unknown=unknown)  # type: ignore[arg-type]
    embedding.load_pretrained()
    return embedding


def test_words_of_glove_have_the_published_vectors() -> None:
    red = load_embedding("keep").table.weight[2]
    published = [-0.12878, 0.8798, -0.60694, 0.12934]  # as in the source document
    assert red[:4].tolist() == pytest.approx(published, abs=1e-6)
    assert load_embedding("keep").has_vector.tolist() == [False, False, True, False, True]


def test_a_dropped_word_changes_neither_logits_nor_weights() -> None:
    """The logits and weights of 'red xylographic price', which depend on positions, are those of 'red price'."""
    embedding = load_embedding("drop")
    components = (Index(50), Identity(51), SimpleSelfAttention(51), Mean(51), nn.Linear(51, 3))
    model = Classifier(embedding, *components).eval()
    inputs, other = (Inputs(ids, ids > 0) for ids in (torch.tensor([[2, 3, 4]]), torch.tensor([[2, 4]])))
    with torch.no_grad():
        assert torch.allclose(model(inputs), model(other), atol=1e-6)
        weights, expected = model.weights(inputs), model.weights(other)
    assert torch.allclose(weights[:, :, ::2, ::2], expected, atol=1e-6)
    assert weights[:, :, 1].abs().sum() == 0
    assert weights[:, :, :, 1].abs().sum() == 0


def test_segments_stay_with_their_tokens_and_columns_with_their_texts() -> None:
    model = Classifier(load_embedding("drop"), Index(50), Identity(51), NoAttention(51), Mean(51), nn.Linear(51, 3))
    ids, columns = torch.tensor([[2, 3, 4], [3, 4, 0]]), torch.tensor([[0.5], [7.0]])
    known, _ = model.drop_unknown(Inputs(ids, ids > 0, torch.tensor([[5, 6, 7], [8, 9, 0]]), columns))
    text = known.of_text(1, 1)
    assert known.segments[known.mask].tolist() == [5, 7, 9]
    assert (text.ids.tolist(), text.segments.tolist(), text.columns.tolist()) == ([[4]], [[9]], [[7.0]])


class TwoRows(NoAttention):
    """Attention with two rows of weights for each text, which do not belong to tokens."""

    per_token = False

    def weights(self, encoded: Encoded) -> torch.Tensor:
        first, last = encoded.mask.cumsum(1) == 1, encoded.mask.cumsum(1) == encoded.mask.sum(1, keepdim=True)
        return torch.stack([first & encoded.mask, last & encoded.mask], 1)[:, None].float()  # N×1×2×L


def test_rows_that_belong_to_no_token_keep_their_order() -> None:
    """A text of two tokens has as many rows as tokens; the first token is dropped, so the second is first and last."""
    model = Classifier(load_embedding("drop"), NoPosition(50), Identity(50), TwoRows(50), Mean(50), nn.Linear(50, 3))
    weights = model.weights(Inputs(torch.tensor([[3, 4]]), torch.ones(1, 2, dtype=torch.bool)))
    assert weights.tolist() == [[[[0, 1], [0, 1]]]]
    maps = model.weights(Inputs(torch.tensor([[2, 4, 3]]), torch.ones(1, 3, dtype=torch.bool)))
    assert maps.tolist() == [[[[1, 0, 0], [0, 1, 0]]]]


def test_the_message_about_a_wrong_size_states_the_correct_size() -> None:
    with pytest.raises(UserError, match=r"have 50 features; write model\.embedding\.dim=50"):
        GloveEmbedding(VOCABULARY, dim=100).load_pretrained()
