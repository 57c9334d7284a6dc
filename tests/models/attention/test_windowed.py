import math

import pytest
import torch

from src.models.attention.multi_head import MultiHeadAttention
from src.models.attention.windowed import WindowedAttention
from tests.models.reference import close, ragged, softmax

H, W, L = 2, 5, 11  # heads, features of a head, tokens
D = H * W


def build_attention(window: int) -> WindowedAttention:
    torch.manual_seed(0)
    return WindowedAttention(D, heads=H, window=window).double()


@pytest.mark.parametrize("window", [1, 2, 3, 4, 7, 10, 11, 13])
def test_states_follow_the_formula(window: int) -> None:
    """Windows that divide the length, windows whose chunks extend beyond it, and windows as long as the text."""
    texts, attention = ragged(D, (L, 1, 6)), build_attention(window)
    with torch.no_grad():
        projected = attention.projections(texts.states)
        context = torch.zeros_like(texts.states)
        for n in range(3):
            real = [t for t in range(L) if texts.mask[n, t]]
            for h in range(H):
                queries, keys, values = (projected[n, :, k * D + h * W : k * D + (h + 1) * W] for k in range(3))
                for i in real:
                    near = [j for j in real if abs(i - j) <= window]
                    row = softmax([float(queries[i] @ keys[j]) / math.sqrt(W) for j in near])
                    for j, weight in zip(near, row, strict=True):
                        context[n, i, h * W : (h + 1) * W] += weight * values[j]
        expected = attention.output(context)
        expected[~texts.mask] = 0.0
        assert close(attention(texts).states, expected)


@pytest.mark.parametrize("window", [1, 3, 10, 11])
def test_weights_beyond_the_window_are_zero(window: int) -> None:
    texts, attention = ragged(D, (L, 1, 6)), build_attention(window)
    steps = torch.arange(L)
    far = (steps[:, None] - steps).abs() > window
    with torch.no_grad():
        weights = attention.weights(texts)
    assert (weights[..., far] == 0).all()
    near = ~far & texts.mask[:, None, None] & texts.mask[:, None, :, None]
    assert (weights.masked_select(near) > 0).all()


@pytest.mark.parametrize("window", [L - 1, L])
def test_a_window_as_long_as_the_text_is_full_attention(window: int) -> None:
    """A window of L - 1 is computed in chunks, and a window of L by the kernel of full attention."""
    texts, attention = ragged(D, (L, 1, 6)), build_attention(window)
    full = MultiHeadAttention(D, heads=H).double()
    full.load_state_dict(attention.state_dict())
    with torch.no_grad():
        assert close(attention(texts).states, full(texts).states)
        assert close(attention.weights(texts), full.weights(texts))


def test_a_long_text_needs_no_tensor_of_all_pairs_of_tokens() -> None:
    """The pairs of 100,000 tokens would have 10¹⁰ scores per head."""
    length = 100_000
    states = torch.randn(1, length, 2)
    output = WindowedAttention(2, heads=1, window=4).transform(states, torch.ones(1, length, dtype=torch.bool))
    assert output.shape == (1, length, 2)
    assert torch.isfinite(output).all()


def test_window_must_be_positive() -> None:
    with pytest.raises(ValueError, match="window=0 must be at least 1"):
        WindowedAttention(D, window=0, heads=H)
