import pytest
import torch
from torch import nn

from src.models.attention.elementwise import ElementwiseMixing
from src.models.attention.windowed import WindowedAttention
from src.models.encoder.hybrid import Hybrid
from src.models.encoder.transformer import Block, Transformer
from src.models.masking import masked_mean
from tests.models.reference import close, ragged

H, W, L = 2, 5, 7  # heads, features of a head, tokens
D = H * W


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("window", [L - 1, L, 100])
def test_a_hybrid_with_a_wide_window_and_no_global_vector_equals_the_transformer(window: int, norm: str) -> None:
    texts = ragged(D)
    options = {"heads": H, "norm": norm, "feed_forward_dim": 11}
    encoder = Hybrid(D, window=window, global_vector=False, **options).double().eval()  # type: ignore[arg-type]
    transformer = Transformer(D, **options).double().eval()  # type: ignore[arg-type]
    transformer.load_state_dict(encoder.state_dict())
    output, expected = encoder(texts.states, texts.mask), transformer(texts.states, texts.mask)
    assert close(output.states, expected.states)
    assert close(output.summary, expected.summary)


def test_a_block_is_windowed_attention_then_global_vector_then_feed_forward() -> None:
    texts = ragged(D)
    encoder = Hybrid(D, heads=H, window=2, layers=2).double().eval()
    x = texts.states

    def normalize(states: torch.Tensor) -> torch.Tensor:
        return nn.functional.layer_norm(states, [D])

    with torch.no_grad():
        for block in encoder.blocks:
            assert isinstance(block, Block)
            windowed, elementwise = (around.attention for around in block.attentions)
            assert isinstance(windowed, WindowedAttention) and isinstance(elementwise, ElementwiseMixing)
            x = x + windowed.transform(normalize(x), texts.mask)
            x = x + elementwise.transform(normalize(x), texts.mask)
            x = x + block.feed_forward(normalize(x))
        expected = normalize(x) * texts.mask.unsqueeze(-1)
        output = encoder(texts.states, texts.mask)
    assert close(output.states, expected)
    assert close(output.summary, masked_mean(expected, texts.mask))


def used_tokens(encoder: Hybrid) -> set[int]:
    """The tokens on which the state of the first token depends."""
    states = ragged(D, (L,)).states.requires_grad_()
    encoder(states, torch.ones(1, L, dtype=torch.bool)).states[0, 0].pow(3).sum().backward()
    assert states.grad is not None
    return set(states.grad[0].abs().sum(-1).nonzero().flatten().tolist())


def test_a_state_depends_on_its_windows_or_on_all_tokens_through_the_global_vector() -> None:
    local = {"heads": H, "window": 2, "global_vector": False}
    assert used_tokens(Hybrid(D, layers=1, **local).double()) == {0, 1, 2}  # type: ignore[arg-type]
    assert used_tokens(Hybrid(D, layers=2, **local).double()) == {0, 1, 2, 3, 4}  # type: ignore[arg-type]
    assert used_tokens(Hybrid(D, heads=H, window=2, layers=1).double()) == set(range(L))
