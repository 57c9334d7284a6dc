"""Properties that all self-attention mechanisms share."""

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


def build_attention(kind: str, **options: object) -> SelfAttention:
    torch.manual_seed(0)
    return KINDS[kind](D, **options).double()


@pytest.fixture
def texts() -> Encoded:
    return ragged(D)


@pytest.mark.parametrize("kind", PAIRWISE)
@pytest.mark.parametrize("norm", ["none", "pre"])
def test_states_are_the_product_of_weights_and_values(kind: str, norm: str, texts: Encoded) -> None:
    attention = build_attention(kind, norm=norm)
    assert isinstance(attention, DotProductAttention)
    with torch.no_grad():
        inputs = F.layer_norm(texts.states, [D]) if norm == "pre" else texts.states
        values = attention.project(inputs, texts.mask)[2]  # N×H×L×d
        expected = attention.merge(attention.weights(texts) @ values)
        expected = expected.masked_fill(~texts.mask.unsqueeze(-1), 0.0)
        assert close(attention(texts).states, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_no_output_and_has_zero_states(kind: str, texts: Encoded) -> None:
    attention = build_attention(kind, residual=True, norm="both").eval()
    with torch.no_grad():
        output, weights = attention(texts), attention.weights(texts)
        padded_output = attention(padded(texts, 4))
        padded_weights = attention.weights(padded(texts, 4))
    assert close(padded_output.states[:, :L], output.states)
    assert close(padded_output.summary, output.summary)
    assert torch.equal(padded_weights[..., L:], torch.zeros_like(padded_weights[..., L:]))
    rows = slice(None) if kind == "elementwise" else slice(L)
    assert close(padded_weights[:, :, rows, :L], weights)
    assert torch.equal(output.states[~texts.mask], torch.zeros(9, D, dtype=torch.float64))
    assert output.mask is texts.mask


@pytest.mark.parametrize("kind", PAIRWISE)
def test_weights_of_a_real_token_sum_to_one_and_others_are_zero(kind: str, texts: Encoded) -> None:
    """Rows of real tokens sum to 1 over real tokens; rows of padding are zero."""
    with torch.no_grad():
        weights = build_attention(kind).weights(texts)
    assert weights.shape[0] == N and weights.shape[2:] == (L, L)
    assert (weights >= 0).all()
    assert close(weights.sum(-1), texts.mask.double()[:, None].expand(-1, weights.shape[1], -1))
    assert (weights.masked_select(~texts.mask[:, None, None]) == 0).all()


@pytest.mark.parametrize("kind", PAIRWISE)
def test_the_summary_is_the_mean_of_the_output_states(kind: str, texts: Encoded) -> None:
    with torch.no_grad():
        output = build_attention(kind, residual=True)(texts)
    assert close(output.summary, masked_mean(output.states, texts.mask))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_text_gives_zeros_and_does_not_change_other_texts(kind: str) -> None:
    attention = build_attention(kind, residual=True, norm="both")
    texts = ragged(D, lengths=(7, 0, 4))
    output = attention(texts)
    assert torch.equal(output.states[1], torch.zeros(L, D, dtype=torch.float64))
    assert torch.equal(output.summary[1], torch.zeros(D, dtype=torch.float64))
    assert torch.equal(attention.weights(texts)[1], torch.zeros_like(attention.weights(texts)[1]))
    other_output = attention(Encoded(texts.states[::2], texts.mask[::2], texts.summary[::2]))
    assert close(output.states[::2], other_output.states)
    (output.states.sum() + output.summary.sum()).backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in attention.parameters())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_has_a_gradient(kind: str, texts: Encoded) -> None:
    attention = build_attention(kind, residual=True, norm="both")
    output = attention(texts)
    (output.states.pow(3).sum() + output.summary.pow(3).sum()).backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        if name != "keys.bias":  # its gradient is 0: it adds the same number to all scores of a query
            assert parameter.grad.abs().max() > 1e-6, name


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_match_finite_differences(kind: str) -> None:
    attention = build_attention(kind, residual=True, norm="pre")
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
    attention = build_attention(kind, residual=residual, norm=norm)
    for layer in (attention.around.before, attention.around.after):
        if isinstance(layer, nn.LayerNorm):
            nn.init.normal_(layer.weight)
            nn.init.normal_(layer.bias)

    def normalize(states: Tensor, layer: nn.Module) -> Tensor:
        assert isinstance(layer, nn.LayerNorm)
        centred = states - states.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return scaled * layer.weight + layer.bias

    with torch.no_grad():
        inputs = normalize(texts.states, attention.around.before) if norm in ("pre", "both") else texts.states
        expected = attention.transform(inputs, texts.mask) + (texts.states if residual else 0.0)
        if norm in ("post", "both"):
            expected = normalize(expected, attention.around.after)
        expected = expected.masked_fill(~texts.mask.unsqueeze(-1), 0.0)
        assert close(attention(texts).states, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", ["dropout", "output_dropout"])
def test_dropout_changes_only_the_states_and_only_in_training(kind: str, option: str, texts: Encoded) -> None:
    attention = build_attention(kind, **{option: 0.5})
    expected = build_attention(kind)(texts).states
    torch.manual_seed(0)
    assert not torch.allclose(attention(texts).states, expected)
    assert close(attention.weights(texts), build_attention(kind).weights(texts))
    assert close(attention.eval()(texts).states, expected)


def test_output_dropout_is_the_last_step(texts: Encoded) -> None:
    """A dropped feature is 0 in the output, even with residual and post-norm; the others are doubled."""
    torch.manual_seed(0)
    attention = SimpleSelfAttention(D, residual=True, norm="post", output_dropout=0.5).double()
    dropped = attention(texts).states[texts.mask]
    remaining = dropped != 0
    assert 0.2 < remaining.double().mean() < 0.8
    assert close(dropped[remaining], 2 * attention.eval()(texts).states[texts.mask][remaining])


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
        build_attention(kind, **options)
