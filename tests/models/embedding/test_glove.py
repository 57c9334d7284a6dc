"""GloVe's vectors in a model: which words have one, and what becomes of the others."""

import pytest
import torch
from torch import nn

from src.errors import UserError
from src.models.attention.simple_self import SimpleSelfAttention
from src.models.classifier import Classifier
from src.models.embedding.glove import GloveEmbedding
from src.models.encoder.identity import Identity
from src.models.pooling.mean import Mean
from src.models.position.index import Index

VOCABULARY = ("<pad>", "<unk>", "red", "xylographic", "price")


def loaded(unknown: str) -> GloveEmbedding:
    embedding = GloveEmbedding(VOCABULARY, unknown=unknown)  # type: ignore[arg-type]
    embedding.load_pretrained()
    return embedding


def test_known_words_have_the_vectors_as_published() -> None:
    red = loaded("keep").table.weight[2]
    assert red[:4].tolist() == pytest.approx([-0.12878, 0.8798, -0.60694, 0.12934], abs=1e-6)  # in the source document
    assert loaded("keep").has_vector.tolist() == [False, False, True, False, True]


def test_a_dropped_word_is_as_if_it_were_not_there() -> None:
    """Position, logits and weights of 'red xylographic price' are those of 'red price'."""
    embedding = loaded("drop")
    parts = (Index(50), Identity(51), SimpleSelfAttention(51), Mean(51), nn.Linear(51, 3))
    model = Classifier(embedding, *parts).eval()
    tokens, mask = torch.tensor([[2, 3, 4]]), torch.ones(1, 3, dtype=torch.bool)
    without = torch.tensor([[2, 4]])
    with torch.no_grad():
        assert torch.allclose(model(tokens, mask), model(without, mask[:, :2]), atol=1e-6)
        weights, expected = model.weights(tokens, mask), model.weights(without, mask[:, :2])
    assert torch.allclose(weights[:, :, ::2, ::2], expected, atol=1e-6)
    assert weights[:, :, 1].abs().sum() == 0
    assert weights[:, :, :, 1].abs().sum() == 0


def test_a_wrong_size_names_the_right_one() -> None:
    with pytest.raises(UserError, match=r"have 50 features; write model\.embedding\.dim=50"):
        GloveEmbedding(VOCABULARY, dim=100).load_pretrained()
