"""Self-attention against loops in float64, against torch and Keras, and the properties that all kinds share.

Keras' torch backend multiplies matrices in float32 even if all inputs are float64, so the comparison with its
`Attention` has a tolerance of 1e-6.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.models.attention.elementwise import ElementwiseAttention
from heedful.models.attention.keras import KerasConcatAttention, KerasDotAttention
from heedful.models.attention.none import NoAttention
from heedful.models.attention.qkv import QkvAttention
from heedful.models.attention.query import LuongDotAttention
from heedful.models.attention.self_attention import MultiHeadAttention, SimpleSelfAttention
from heedful.models.attention.windowed import WindowedAttention
from heedful.models.check import check_component
from heedful.models.component import Attention, Encoded, TokenAttention, masked_mean
from heedful.models.sublayer import AttentionSublayer
from tests.keras_reference import keras
from tests.models.reference import attend, close, ragged

L, H, W, A = 11, 2, 5, 7  # tokens, heads, features of a head, units of qkv
D = H * W
LENGTHS = (L, 1, 6)
FLOAT32 = 1e-6


@pytest.fixture
def texts() -> Encoded:
    return ragged(D, LENGTHS)


def test_simple_self_attention_follows_the_formula(texts: Encoded) -> None:
    attention, x = SimpleSelfAttention(D), texts.states
    weights, expected = attend(x, x, x, texts.mask, lambda q, k: float(q @ k) / math.sqrt(D))
    assert close(attention.weights(texts)[:, 0], weights)
    assert close(attention(texts).states, expected)
    assert list(attention.parameters()) == []


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("scale", ["dim", "numel", "none"])
def test_qkv_follows_the_formula(scale: Any, bias: bool, texts: Encoded) -> None:
    torch.manual_seed(0)
    attention = QkvAttention(D, attention_units=A, scale=scale, bias=bias).double()
    with torch.no_grad():
        queries, keys, values = (
            texts.states @ linear.weight.T + (linear.bias if bias else 0.0)
            for linear in (attention.queries, attention.keys, attention.values)
        )
        states, all_weights = attention(texts).states, attention.weights(texts)[:, 0]
        for n, length in enumerate(LENGTHS):  # one text at a time, because the scale of numel depends on its length
            root = {"dim": math.sqrt(A), "numel": math.sqrt(A * length), "none": 1.0}[scale]
            row = slice(n, n + 1)
            weights, expected = attend(
                queries[row] / root, keys[row], values[row], texts.mask[row], lambda q, k: float(q @ k)
            )
            assert close(all_weights[row], weights)
            assert close(states[row], expected)
    assert attention.output_dim == A


def test_initial_weights_of_qkv() -> None:
    torch.manual_seed(0)
    attention = QkvAttention(101, values_from_keys=True, init_std=0.01)
    for linear in (attention.queries, attention.keys, attention.values):
        assert linear.weight.std().item() == pytest.approx(0.01, rel=0.05)
        assert torch.equal(linear.bias, torch.zeros(101))
    assert torch.equal(attention.values.weight, attention.keys.weight)
    assert attention.values.weight is not attention.keys.weight, "values must not be tied to keys"
    separate = QkvAttention(D)
    assert not torch.equal(separate.values.weight, separate.keys.weight)


@pytest.mark.parametrize("bias", [True, False])
def test_multi_head_attention_equals_torch(bias: bool, texts: Encoded) -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(D, heads=H, bias=bias).double()
    reference = nn.MultiheadAttention(D, H, bias=bias, batch_first=True, dtype=torch.float64)
    names = {"projections.weight": "in_proj_weight", "output.weight": "out_proj.weight"}
    names |= {"projections.bias": "in_proj_bias", "output.bias": "out_proj.bias"} if bias else {}
    reference.load_state_dict({names[name]: value for name, value in attention.state_dict().items()})
    states, real = texts.states, texts.mask.unsqueeze(-1)
    with torch.no_grad():
        expected, weights = reference(states, states, states, key_padding_mask=~texts.mask, average_attn_weights=False)
        assert close(attention(texts).states, expected * real)
        assert close(attention.weights(texts), weights * real.unsqueeze(1))


@pytest.mark.parametrize(("mode", "use_scale"), [("dot", False), ("dot", True), ("concat", False), ("concat", True)])
def test_keras_attention_follows_the_formula_and_equals_keras(mode: str, use_scale: bool, texts: Encoded) -> None:
    attention = (KerasDotAttention if mode == "dot" else KerasConcatAttention)(D, use_scale=use_scale).double()
    layer = keras().layers.Attention(score_mode=mode, use_scale=use_scale, dtype="float64")
    x, s = texts.states, 0.7 if use_scale else 1.0
    layer.build([x.shape, x.shape])
    with torch.no_grad():
        assert all(parameter == 1 for parameter in attention.parameters())
        if attention.scale is not None:
            attention.scale.fill_(0.7)
            layer.scale.assign(0.7)
        if isinstance(attention, KerasConcatAttention):
            attention.concat_weight.fill_(-1.3)
            layer.concat_score_weight.assign(-1.3)

    def score(query: Tensor, key: Tensor) -> float:
        if mode == "dot":
            return s * float(query @ key)
        return -1.3 * sum(float(torch.tanh(s * (query[d] + key[d]))) for d in range(D))

    with torch.no_grad():
        weights, expected = attend(x, x, x, texts.mask, score)
        assert close(attention.weights(texts)[:, 0], weights)
        assert close(attention(texts).states, expected)
        expected, weights = layer([x, x], mask=[texts.mask, texts.mask], return_attention_scores=True)
        assert close(attention(texts).states, expected.double(), FLOAT32)
        real = texts.mask.unsqueeze(-1)  # Keras does not set the rows of padding to zero
        assert close(attention.weights(texts)[:, 0], weights.double() * real, FLOAT32)


@pytest.mark.parametrize("window", [1, 2, 3, 4, 7, L - 1, L, 13])
def test_windowed_attention_follows_the_formula(window: int, texts: Encoded) -> None:
    """Windows that divide the length, windows whose chunks extend beyond it, and windows as long as the text."""
    torch.manual_seed(0)
    attention = WindowedAttention(D, heads=H, window=window).double()
    with torch.no_grad():
        projected = attention.projections(texts.states).chunk(3, -1)  # queries, keys and values of all heads
        heads = zip(*(part.split(W, -1) for part in projected), strict=True)
        results = [attend(*head, texts.mask, lambda q, k: float(q @ k) / math.sqrt(W), window) for head in heads]
        weights, contexts = zip(*results, strict=True)
        assert close(attention.weights(texts), torch.stack(weights, 1))
        expected = attention.output(torch.cat(contexts, -1)) * texts.mask.unsqueeze(-1)
        assert close(attention(texts).states, expected)


def test_a_long_text_needs_no_tensor_of_all_pairs_of_tokens() -> None:
    """The pairs of 100,000 tokens would have 10¹⁰ scores per head."""
    length = 100_000
    states = torch.randn(1, length, 2)
    output = WindowedAttention(2, heads=1, window=4).transform(states, torch.ones(1, length, dtype=torch.bool))
    assert output.shape == (1, length, 2)
    assert torch.isfinite(output).all()


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("norm", ["none", "pre", "post", "both"])
@pytest.mark.parametrize("kind", [SimpleSelfAttention, ElementwiseAttention])
def test_norms_and_residual(kind: type[TokenAttention], residual: bool, norm: str, texts: Encoded) -> None:
    torch.manual_seed(0)
    sublayer = AttentionSublayer(D, kind(D), residual=residual, norm=norm).double()
    norms = {name: nn.LayerNorm(D).double() for name in ("before", "after")}
    for name, layer in norms.items():
        nn.init.normal_(layer.weight)
        nn.init.normal_(layer.bias)
        if isinstance(getattr(sublayer, name), nn.LayerNorm):
            getattr(sublayer, name).load_state_dict(layer.state_dict())
    with torch.no_grad():
        inputs = texts._replace(states=norms["before"](texts.states) if norm in ("pre", "both") else texts.states)
        attended = sublayer.attention(inputs)
        expected = attended.states + (texts.states if residual else 0.0)
        expected = norms["after"](expected) if norm in ("post", "both") else expected
        expected = expected * texts.mask.unsqueeze(-1)
        output, weights = sublayer(texts), sublayer.attention.weights(inputs)
        assert close(output.states, expected)
        summary = attended.summary if kind is ElementwiseAttention else masked_mean(expected, texts.mask)
        assert close(output.summary, summary)
        assert close(sublayer.weights(texts), weights)
        assert close(sublayer.mix(texts, weights).states, expected)
        assert close(sublayer.transform(texts.states, texts.mask)[texts.mask], expected[texts.mask])


def test_a_sublayer_needs_an_output_state_of_each_token() -> None:
    with pytest.raises(ValueError, match="LuongDotAttention has no output state for each token, as self-attention has"):
        AttentionSublayer(D, LuongDotAttention(D))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="residual=True cannot add 10 features to an output of 7 features"):
        AttentionSublayer(D, QkvAttention(D, attention_units=A))


@pytest.mark.parametrize("kind", [QkvAttention, WindowedAttention, KerasConcatAttention, ElementwiseAttention])
def test_dropout_changes_only_the_states_and_only_in_training(kind: type[TokenAttention], texts: Encoded) -> None:
    def build(rate: float, **options: float) -> AttentionSublayer:
        torch.manual_seed(0)
        heads = {"heads": H} if kind is WindowedAttention else {}
        attention = kind(D, dropout=rate, **heads)
        return AttentionSublayer(D, attention, residual=False, norm="none", **options).double()

    expected = build(0.0)(texts).states
    for attention in (build(0.5), build(0.0, dropout=0.5), build(0.0, output_dropout=0.5)):
        assert not torch.allclose(attention(texts).states, expected)
        assert close(attention.weights(texts), build(0.0).weights(texts))
        assert close(attention.eval()(texts).states, expected)


def test_output_dropout_is_the_last_step(texts: Encoded) -> None:
    """A dropped feature is 0 in the output, even with residual and post-norm; the others are doubled."""
    torch.manual_seed(0)
    attention = AttentionSublayer(D, SimpleSelfAttention(D), norm="post", output_dropout=0.5).double()
    dropped = attention(texts).states[texts.mask]
    remaining = dropped != 0
    assert 0.2 < remaining.double().mean() < 0.8
    assert close(dropped[remaining], 2 * attention.eval()(texts).states[texts.mask][remaining])


def cubed(base: type[Attention]) -> Any:
    class Cubed(base):  # type: ignore[misc, valid-type]
        def weights(self, encoded: Encoded) -> Tensor:
            weights = super().weights(encoded) ** 3
            return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)

    return Cubed


def doubled(base: type[Attention]) -> Any:
    class Doubled(base):  # type: ignore[misc, valid-type]
        def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
            mixed = super().mix(encoded, weights)
            return mixed._replace(states=2 * mixed.states)

    return Doubled


class Scored(WindowedAttention):
    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return 3 * super().score(queries, keys)


class Unlimited(WindowedAttention):
    def visible(self, mask: Tensor) -> Tensor:
        return mask[:, None, None, :]


FAST = (SimpleSelfAttention, MultiHeadAttention, WindowedAttention, ElementwiseAttention)


@pytest.mark.parametrize(
    ("base", "cls"),
    [(NoAttention, doubled(NoAttention)), (WindowedAttention, Scored), (WindowedAttention, Unlimited)]
    + [(base, change(base)) for base in FAST for change in (cubed, doubled)],
)
def test_an_overridden_method_is_used_instead_of_a_fast_path(base: type[Attention], cls: Any, texts: Encoded) -> None:
    options: dict[str, Any] = {"heads": H} if issubclass(base, MultiHeadAttention) else {}
    options |= {"window": 2} if base is WindowedAttention else {}
    torch.manual_seed(0)
    attention, other = base(D, **options).double(), cls(D, **options)
    other.load_state_dict(attention.state_dict())
    check_component(other, D)  # forward is mix(weights), and transform is forward
    if issubclass(cls, TokenAttention):
        check_component(AttentionSublayer(D, other), D)
    assert not torch.allclose(attention(texts).states, other.double()(texts).states)
