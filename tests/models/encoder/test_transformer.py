"""Against torch's own encoder layers with copied weights."""

import pytest
import torch
from torch import Tensor, nn

from src.models.encoder.transformer import Transformer
from src.models.masking import masked_mean
from tests.models.reference import close, padded, ragged

H, W, F, LAYERS = 3, 5, 11, 2
D = H * W


def torchs(norm: str, activation: str) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        D, H, F, 0.0, activation, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
    )
    last = nn.LayerNorm(D, dtype=torch.float64) if norm == "pre" else None
    peer = nn.TransformerEncoder(layer, LAYERS, last, enable_nested_tensor=False)
    for parameter in peer.parameters():  # norms and biases start alike: make every copy tell
        nn.init.normal_(parameter, std=0.3)
    return peer


def copied(peer: nn.TransformerEncoder, **options: object) -> Transformer:
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
    theirs = peer.state_dict()

    def source(ours: str) -> Tensor:
        for mine, yours in names.items():
            ours = ours.replace(mine, yours)
        return theirs[ours.replace("blocks.", "layers.").replace("leave.", "norm.")]

    encoder.load_state_dict({name: source(name) for name in encoder.state_dict()})
    assert len(theirs) == len(encoder.state_dict())
    return encoder


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_against_torch(norm: str, activation: str) -> None:
    texts = ragged(D)
    torch.manual_seed(0)
    peer = torchs(norm, activation)
    encoder = copied(peer, norm=norm, activation=activation)
    out = encoder(texts.states, texts.mask)
    with torch.no_grad():
        expected = peer(texts.states, src_key_padding_mask=~texts.mask) * texts.mask.unsqueeze(-1)
    assert close(out.states, expected)
    assert close(out.summary, masked_mean(expected, texts.mask))
    assert torch.equal(out.mask, texts.mask)


def test_states_of_another_width_are_projected() -> None:
    texts = ragged(7)
    encoder = Transformer(7, dim=D, heads=H).double()
    assert encoder.output_dim == D
    assert encoder(texts.states, texts.mask).states.shape == (3, 7, D)
    assert isinstance(Transformer(D, heads=H).enter, nn.Identity)
    assert isinstance(Transformer(D, dim=D, heads=H).enter, nn.Identity)


def test_padding_is_neither_read_nor_written() -> None:
    texts, encoder = ragged(7), Transformer(7, dim=D, heads=H).double().eval()
    more = padded(texts, 4)
    short, long = encoder(texts.states, texts.mask), encoder(more.states, more.mask)
    assert close(long.states[:, :7], short.states)
    assert close(long.summary, short.summary)
    assert not long.states[~more.mask].any()


def test_every_parameter_learns_and_an_empty_text_gives_zeros() -> None:
    texts, encoder = ragged(7, (7, 0, 4)), Transformer(7, dim=D, heads=H).double()
    out = encoder(texts.states, texts.mask)
    assert not out.states[1].any() and not out.summary[1].any()
    out.states.pow(3).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 1e-9, name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": 4}, "heads=4 must be a positive divisor of 15, the number of features"),
        ({"layers": 0}, r"layers=0 must lie in \[1, 1000\]"),
        ({"layers": -1}, r"layers=-1 must lie in \[1, 1000\]"),
        ({"norm": "both"}, "norm='both' must be one of pre, post"),
        ({"activation": "tanh"}, "activation='tanh' must be one of relu, gelu"),
        ({"dropout": 1.0}, r"dropout=1\.0 must lie in"),
        ({"feed_forward_dim": 0}, "feed_forward_dim=0 must be at least 1"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Transformer(D, **{"heads": H, **options})  # type: ignore[arg-type]
