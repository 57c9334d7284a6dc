"""GloVe vectors in a model, and the treatment of words without a vector."""

import pytest
import torch
from torch import nn

from src.errors import UserError
from src.models.attention.self_attention import SimpleSelfAttention
from src.models.classifier import Classifier
from src.models.embedding.glove import GloveEmbedding
from src.models.encoder.identity import Identity
from src.models.pooling import Mean
from src.models.position import Index

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
    tokens, mask = torch.tensor([[2, 3, 4]]), torch.ones(1, 3, dtype=torch.bool)
    other_tokens = torch.tensor([[2, 4]])
    with torch.no_grad():
        assert torch.allclose(model(tokens, mask), model(other_tokens, mask[:, :2]), atol=1e-6)
        weights, expected = model.weights(tokens, mask), model.weights(other_tokens, mask[:, :2])
    assert torch.allclose(weights[:, :, ::2, ::2], expected, atol=1e-6)
    assert weights[:, :, 1].abs().sum() == 0
    assert weights[:, :, :, 1].abs().sum() == 0


def test_the_message_about_a_wrong_size_states_the_correct_size() -> None:
    with pytest.raises(UserError, match=r"have 50 features; write model\.embedding\.dim=50"):
        GloveEmbedding(VOCABULARY, dim=100).load_pretrained()
