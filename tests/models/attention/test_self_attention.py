"""What holds for every self-attention, whatever its score."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from src.models.attention.dot_product import DotProductAttention
from src.models.attention.elementwise import ElementwiseAttention
from src.models.attention.keras import KerasAttention
from src.models.attention.multi_head import MultiHeadAttention
from src.models.attention.qkv import QkvAttention
from src.models.attention.self_attention import SelfAttention
from src.models.attention.simple_self import SimpleSelfAttention
from src.models.attention.windowed import WindowedAttention
from src.models.masking import masked_mean
from src.models.types import Encoded
from tests.models.reference import close, padded, ragged

N, L, H, D = 3, 7, 2, 10

KINDS: dict[str, Callable[..., SelfAttention]] = {
    "simple_self": SimpleSelfAttention,
    "qkv": QkvAttention,
    "qkv numel": lambda dim, **options: QkvAttention(dim, scale="numel", bias=False, **options),
    "keras dot": lambda dim, **options: KerasAttention(dim, use_scale=True, **options),
    "keras concat": lambda dim, **options: KerasAttention(dim, score_mode="concat", use_scale=True, **options),
    "multi_head": lambda dim, **options: MultiHeadAttention(dim, heads=H, **options),
    "windowed": lambda dim, **options: WindowedAttention(dim, heads=H, window=2, **options),
    "elementwise": lambda dim, **options: ElementwiseAttention(dim, expanded_dim=13, **options),
}
PAIRWISE = [kind for kind in KINDS if kind != "elementwise"]


def made(kind: str, **options: object) -> SelfAttention:
    torch.manual_seed(0)
    return KINDS[kind](D, **options).double()


@pytest.fixture
def texts() -> Encoded:
    return ragged(D)


@pytest.mark.parametrize("kind", PAIRWISE)
@pytest.mark.parametrize("norm", ["none", "pre"])
def test_weights_times_values_is_what_forward_mixes(kind: str, norm: str, texts: Encoded) -> None:
    attention = made(kind, norm=norm)
    assert isinstance(attention, DotProductAttention)
    with torch.no_grad():
        read = F.layer_norm(texts.states, [D]) if norm == "pre" else texts.states
        values = attention.project(read, texts.mask)[2]  # N×H×L×d
        mixed = attention.merge(attention.weights(texts) @ values)
        mixed = mixed.masked_fill(~texts.mask.unsqueeze(-1), 0.0)
        assert close(attention(texts).states, mixed)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_is_neither_read_nor_written(kind: str, texts: Encoded) -> None:
    attention = made(kind, residual=True, norm="both").eval()
    with torch.no_grad():
        out, weights = attention(texts), attention.weights(texts)
        more = attention(padded(texts, 4))
        wide = attention.weights(padded(texts, 4))
    assert close(more.states[:, :L], out.states)
    assert close(more.summary, out.summary)
    assert torch.equal(wide[..., L:], torch.zeros_like(wide[..., L:]))
    rows = slice(None) if kind == "elementwise" else slice(L)
    assert close(wide[:, :, rows, :L], weights)
    assert torch.equal(out.states[~texts.mask], torch.zeros(9, D, dtype=torch.float64))
    assert out.mask is texts.mask


@pytest.mark.parametrize("kind", PAIRWISE)
def test_rows_of_weights(kind: str, texts: Encoded) -> None:
    """Rows of real tokens sum to 1 over real tokens, rows of padding are zero."""
    with torch.no_grad():
        weights = made(kind).weights(texts)
    assert weights.shape[0] == N and weights.shape[2:] == (L, L)
    assert (weights >= 0).all()
    assert close(weights.sum(-1), texts.mask.double()[:, None].expand(-1, weights.shape[1], -1))
    assert (weights.masked_select(~texts.mask[:, None, None]) == 0).all()


@pytest.mark.parametrize("kind", PAIRWISE)
def test_the_summary_is_the_mean_of_the_result(kind: str, texts: Encoded) -> None:
    with torch.no_grad():
        out = made(kind, residual=True)(texts)
    assert close(out.summary, masked_mean(out.states, texts.mask))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_text_gives_zeros_and_harms_no_other(kind: str) -> None:
    attention = made(kind, residual=True, norm="both")
    texts = ragged(D, lengths=(7, 0, 4))
    out = attention(texts)
    assert torch.equal(out.states[1], torch.zeros(L, D, dtype=torch.float64))
    assert torch.equal(out.summary[1], torch.zeros(D, dtype=torch.float64))
    assert torch.equal(attention.weights(texts)[1], torch.zeros_like(attention.weights(texts)[1]))
    alone = attention(Encoded(texts.states[::2], texts.mask[::2], texts.summary[::2]))
    assert close(out.states[::2], alone.states)
    (out.states.sum() + out.summary.sum()).backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in attention.parameters())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_learns(kind: str, texts: Encoded) -> None:
    attention = made(kind, residual=True, norm="both")
    out = attention(texts)
    (out.states.pow(3).sum() + out.summary.pow(3).sum()).backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        if name != "keys.bias":  # it adds the same to all scores of a query
            assert parameter.grad.abs().max() > 1e-6, name


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_match_finite_differences(kind: str) -> None:
    attention = made(kind, residual=True, norm="pre")
    texts = ragged(D, lengths=(3, 2))

    def states(inputs: Tensor) -> Tensor:
        return attention(texts._replace(states=inputs)).states

    assert torch.autograd.gradcheck(states, (texts.states.clone().requires_grad_(),), fast_mode=True)


@pytest.mark.parametrize(
    ("residual", "norm"),
    [(residual, norm) for residual in (False, True) for norm in ("none", "pre", "post", "both")],
)
@pytest.mark.parametrize("kind", KINDS)
def test_norms_and_residual(kind: str, residual: bool, norm: str, texts: Encoded) -> None:
    attention = made(kind, residual=residual, norm=norm)
    for layer in (attention.around.before, attention.around.after):
        if isinstance(layer, nn.LayerNorm):
            nn.init.normal_(layer.weight)
            nn.init.normal_(layer.bias)

    def normed(states: Tensor, layer: nn.Module) -> Tensor:
        assert isinstance(layer, nn.LayerNorm)
        centred = states - states.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return scaled * layer.weight + layer.bias

    with torch.no_grad():
        read = normed(texts.states, attention.around.before) if norm in ("pre", "both") else texts.states
        expected = attention.transform(read, texts.mask) + (texts.states if residual else 0.0)
        if norm in ("post", "both"):
            expected = normed(expected, attention.around.after)
        expected = expected.masked_fill(~texts.mask.unsqueeze(-1), 0.0)
        assert close(attention(texts).states, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", ["dropout", "output_dropout"])
def test_dropout_touches_training_alone(kind: str, rate: str, texts: Encoded) -> None:
    attention = made(kind, **{rate: 0.5})
    settled = made(kind)(texts).states
    torch.manual_seed(0)
    assert not torch.allclose(attention(texts).states, settled)
    assert close(attention.weights(texts), made(kind).weights(texts))
    assert close(attention.eval()(texts).states, settled)


def test_output_dropout_is_the_last_step(texts: Encoded) -> None:
    """A dropped feature is 0 in the result, residual and post-norm included; the others are doubled."""
    torch.manual_seed(0)
    attention = SimpleSelfAttention(D, residual=True, norm="post", output_dropout=0.5).double()
    dropped = attention(texts).states[texts.mask]
    kept = dropped != 0
    assert 0.2 < kept.double().mean() < 0.8
    assert close(dropped[kept], 2 * attention.eval()(texts).states[texts.mask][kept])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dropout": 1.0}, r"dropout=1\.0 must lie in \[0, 1\)"),
        ({"output_dropout": -0.1}, r"output_dropout=-0\.1 must lie in \[0, 1\)"),
        ({"norm": "after"}, "norm='after' must be one of none, pre, post, both"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_options_out_of_range_are_refused(kind: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(kind, **options)
