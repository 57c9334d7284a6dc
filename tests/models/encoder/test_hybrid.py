import pytest
import torch
from torch import nn

from src.models.attention.elementwise import ElementwiseMixing
from src.models.attention.windowed import WindowedAttention
from src.models.encoder.hybrid import Hybrid
from src.models.encoder.stack import Block
from src.models.encoder.transformer import Transformer
from src.models.masking import masked_mean
from tests.models.reference import close, padded, ragged

H, W, L = 2, 5, 7
D = H * W


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("window", [L - 1, L, 100])
def test_with_a_wide_window_and_no_global_vector_it_is_the_transformer(window: int, norm: str) -> None:
    texts = ragged(D)
    options = {"heads": H, "norm": norm, "feed_forward_dim": 11}
    encoder = Hybrid(D, window=window, global_vector=False, **options).double().eval()  # type: ignore[arg-type]
    peer = Transformer(D, **options).double().eval()  # type: ignore[arg-type]
    peer.load_state_dict(encoder.state_dict())
    ours, theirs = encoder(texts.states, texts.mask), peer(texts.states, texts.mask)
    assert close(ours.states, theirs.states)
    assert close(ours.summary, theirs.summary)


def test_a_block_is_windowed_attention_then_global_vector_then_feed_forward() -> None:
    texts = ragged(D)
    encoder = Hybrid(D, heads=H, window=2, layers=2).double().eval()
    x = texts.states

    def normed(states: torch.Tensor) -> torch.Tensor:
        return nn.functional.layer_norm(states, [D])

    with torch.no_grad():
        for block in encoder.blocks:
            assert isinstance(block, Block)
            windowed, elementwise = (around.attention for around in block.attentions)
            assert isinstance(windowed, WindowedAttention) and isinstance(elementwise, ElementwiseMixing)
            x = x + windowed.transform(normed(x), texts.mask)
            x = x + elementwise.transform(normed(x), texts.mask)
            x = x + block.feed_forward(normed(x))
        expected = normed(x) * texts.mask.unsqueeze(-1)
        out = encoder(texts.states, texts.mask)
    assert close(out.states, expected)
    assert close(out.summary, masked_mean(expected, texts.mask))


def reach(encoder: Hybrid) -> set[int]:
    """The tokens that the first token's state depends on."""
    states = ragged(D, (L,)).states.requires_grad_()
    encoder(states, torch.ones(1, L, dtype=torch.bool)).states[0, 0].pow(3).sum().backward()
    assert states.grad is not None
    return set(states.grad[0].abs().sum(-1).nonzero().flatten().tolist())


def test_the_window_limits_and_the_global_vector_lifts_the_reach() -> None:
    local = {"heads": H, "window": 2, "global_vector": False}
    assert reach(Hybrid(D, layers=1, **local).double()) == {0, 1, 2}  # type: ignore[arg-type]
    assert reach(Hybrid(D, layers=2, **local).double()) == {0, 1, 2, 3, 4}  # type: ignore[arg-type]
    assert reach(Hybrid(D, heads=H, window=2, layers=1).double()) == set(range(L))


def test_padding_is_neither_read_nor_written() -> None:
    texts, encoder = ragged(3), Hybrid(3, dim=D, heads=H, window=2).double().eval()
    more = padded(texts, 4)
    short, long = encoder(texts.states, texts.mask), encoder(more.states, more.mask)
    assert close(long.states[:, :L], short.states)
    assert close(long.summary, short.summary)
    assert not long.states[~more.mask].any()
    assert encoder.output_dim == D


def test_every_parameter_learns_and_an_empty_text_gives_zeros() -> None:
    texts, encoder = ragged(3, (7, 0, 4)), Hybrid(3, dim=D, heads=H, window=2).double()
    out = encoder(texts.states, texts.mask)
    assert not out.states[1].any() and not out.summary[1].any()
    out.states.pow(3).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 1e-9, name
