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
