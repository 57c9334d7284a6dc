"""The transformer against torch's encoder layers with the same weights, and the other stacks of blocks."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.models.attention.elementwise import ElementwiseMixing
from heedful.models.attention.windowed import WindowedAttention
from heedful.models.component import masked_mean
from heedful.models.encoder.elementwise import Elementwise
from heedful.models.encoder.hybrid import Hybrid
from heedful.models.encoder.transformer import Transformer
from tests.models.reference import close, ragged

H, W, F, LAYERS = 3, 5, 11, 2  # W: features of a head, F: of the hidden layer
D = H * W


def build_reference(norm: str, activation: str) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        D, H, F, 0.0, activation, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
    )
    last = nn.LayerNorm(D, dtype=torch.float64) if norm == "pre" else None
    reference = nn.TransformerEncoder(layer, LAYERS, last, enable_nested_tensor=False)
    for parameter in reference.parameters():  # random, because norms and biases are initially all equal
        nn.init.normal_(parameter, std=0.3)
    return reference


def copy_reference(reference: nn.TransformerEncoder, **options: object) -> Transformer:
    encoder = Transformer(D, heads=H, layers=LAYERS, feed_forward_dim=F, dropout=0.0, **options).double()  # type: ignore[arg-type]
    names = {
        "attentions.0.attention.projections.": "self_attn.in_proj_",
        "attentions.0.attention.output.": "self_attn.out_proj.",
        "attentions.0.before.": "norm1.",
        "attentions.0.after.": "norm1.",
        "around.before.": "norm2.",
        "around.after.": "norm2.",
        "feed_forward.layers.0.": "linear1.",
        "feed_forward.layers.4.": "linear2.",
    }
    reference_weights = reference.state_dict()

    def reference_weight(name: str) -> Tensor:
        for component, reference_component in names.items():
            name = name.replace(component, reference_component)
        return reference_weights[name.replace("blocks.", "layers.").replace("leave.", "norm.")]

    encoder.load_state_dict({name: reference_weight(name) for name in encoder.state_dict()})
    assert len(reference_weights) == len(encoder.state_dict())
    return encoder


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_states_and_summary_equal_those_of_torch(norm: str, activation: str) -> None:
    texts = ragged(D)
    torch.manual_seed(0)
    reference = build_reference(norm, activation)
    encoder = copy_reference(reference, norm=norm, activation=activation)
    output = encoder(texts.states, texts.mask)
    with torch.no_grad():
        expected = reference(texts.states, src_key_padding_mask=~texts.mask) * texts.mask.unsqueeze(-1)
    assert close(output.states, expected)
    assert close(output.summary, masked_mean(expected, texts.mask))
    assert torch.equal(output.mask, texts.mask)


def test_states_of_another_size_are_projected() -> None:
    texts = ragged(7)
    encoder = Transformer(7, dim=D, heads=H).double()
    assert encoder.output_dim == D
    assert encoder(texts.states, texts.mask).states.shape == (3, 7, D)
    assert isinstance(Transformer(D, heads=H).enter, nn.Identity)
    assert isinstance(Transformer(D, dim=D, heads=H).enter, nn.Identity)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("window", [6, 7, 100])
def test_a_hybrid_with_a_wide_window_and_no_global_vector_equals_the_transformer(window: int, norm: str) -> None:
    texts = ragged(D)
    options = {"heads": H, "norm": norm, "feed_forward_dim": F}
    encoder = Hybrid(D, window=window, global_vector=False, **options).double().eval()  # type: ignore[arg-type]
    transformer = Transformer(D, **options).double().eval()  # type: ignore[arg-type]
    transformer.load_state_dict(encoder.state_dict())
    output, expected = encoder(texts.states, texts.mask), transformer(texts.states, texts.mask)
    assert close(output.states, expected.states)
    assert close(output.summary, expected.summary)


KINDS = [(Hybrid, {"heads": H}, [WindowedAttention, ElementwiseMixing]), (Elementwise, {}, [ElementwiseMixing])]


@pytest.mark.parametrize(("kind", "options", "attentions"), KINDS)
def test_blocks_of_other_attentions_follow_their_documents(kind: Any, options: Any, attentions: list[type]) -> None:
    """Each attention and the feed-forward network f give x + f(norm(x)); in elementwise, f has an inner norm."""
    texts = ragged(D)
    torch.manual_seed(0)
    encoder = kind(D, **options).double().eval()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.3)
    x = texts.states
    with torch.no_grad():
        for block in encoder.blocks:
            assert [type(around.attention) for around in block.attentions] == attentions
            for around in block.attentions:
                x = x + around.attention.transform(around.before(x), texts.mask)
            first, inner, activation, _, second = block.feed_forward.layers
            assert isinstance(inner, nn.LayerNorm) == isinstance(activation, nn.ReLU) == (kind is Elementwise)
            x = x + second(activation(inner(first(block.around.before(x)))))
        x = encoder.leave(x)
        output = encoder(texts.states, texts.mask)
        assert close(output.states, x * texts.mask.unsqueeze(-1))
        summary = encoder.vector(x, texts.mask) if kind is Elementwise else masked_mean(x, texts.mask)
        assert close(output.summary, summary)
