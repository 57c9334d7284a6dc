"""The errors of the elementwise document; the tests of the attention and the encoder cover its formulas."""

import torch

from src.models.attention.elementwise import ElementwiseAttention
from src.models.encoder.elementwise import Elementwise
from tests.models.reference import close, padded, ragged

D = 5


def test_error_the_global_vector_includes_padding() -> None:
    """softmax(A, dim=1), as in the document, includes the padding in E."""
    texts = ragged(D, (7, 7))
    longer = padded(texts, 4)
    attention = ElementwiseAttention(D, vector_norm="none").double()
    vector = attention.vector

    def compute_documented(states: torch.Tensor) -> torch.Tensor:
        return (vector.scores(states).softmax(1) * vector.values(states)).sum(1)

    assert close(compute_documented(texts.states), attention(texts).summary)
    assert not torch.allclose(compute_documented(longer.states), compute_documented(texts.states), atol=0.01)
    assert close(attention(longer).summary, attention(texts).summary)


def test_error_the_formula_of_e_lacks_its_sum() -> None:
    """softmax(A, dim=1) * V is N×L×De; E, which the document describes as N×1×De, is the sum over the tokens."""
    texts = ragged(D, (7, 7))
    vector = ElementwiseAttention(D, vector_norm="none").double().vector
    product = vector.scores(texts.states).softmax(1) * vector.values(texts.states)
    assert product.shape == (2, 7, D)
    assert close(vector(texts.states, texts.mask), product.sum(1))


def test_error_the_stack_ignores_the_order_of_words() -> None:
    """There is no positional encoding, so a text and its reverse have the same E."""
    texts = ragged(D, (7, 7))
    encoder = Elementwise(D).double().eval()
    reversed_output = encoder(texts.states.flip(1), texts.mask)
    assert close(reversed_output.summary, encoder(texts.states, texts.mask).summary)
