import pytest
import torch
from torch import Tensor, nn

from src.models.attention.elementwise import ElementwiseMixing
from src.models.encoder.elementwise import Elementwise
from src.models.encoder.stack import AttentionSublayer, Block
from tests.models.reference import close, padded, ragged

D, E = 7, 11


def normed(layer: nn.Module, states: Tensor) -> Tensor:
    assert isinstance(layer, nn.LayerNorm)
    centred = states - states.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * layer.weight + layer.bias


def test_the_documents_stack() -> None:
    """x + attention(norm(x)), then x + W₂ relu(norm(W₁ norm(x))); E of the final states is the summary."""
    texts = ragged(D)
    torch.manual_seed(0)
    encoder = Elementwise(D, layers=2, expanded_dim=E, dropout=0.0).double()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    x = texts.states
    with torch.no_grad():
        for block in encoder.blocks:
            assert isinstance(block, Block)
            (around,) = block.attentions
            assert isinstance(around, AttentionSublayer) and isinstance(around.attention, ElementwiseMixing)
            x = x + around.attention.transform(normed(around.before, x), texts.mask)
            first, inner, _, _, second = block.feed_forward.layers
            hidden = torch.relu(normed(inner, first(normed(block.around.before, x))))
            assert hidden.shape[-1] == E
            x = x + second(hidden)
        x = normed(encoder.leave, x)
        out = encoder(texts.states, texts.mask)
        real = texts.mask.unsqueeze(-1)
        assert close(out.states, x * real)
        scores = (x @ encoder.vector.scores.weight.T).masked_fill(~real, -torch.inf)
        vector = (scores.softmax(1) * (x @ encoder.vector.values.weight.T)).sum(1)
        assert close(out.summary, normed(encoder.vector.norm, vector))


def test_padding_is_neither_read_nor_written() -> None:
    texts, encoder = ragged(5), Elementwise(5, dim=D).double().eval()
    more = padded(texts, 4)
    short, long = encoder(texts.states, texts.mask), encoder(more.states, more.mask)
    assert close(long.states[:, :7], short.states)
    assert close(long.summary, short.summary)
    assert not long.states[~more.mask].any()
    assert encoder.output_dim == D


def test_the_summary_alone_trains_every_parameter() -> None:
    texts, encoder = ragged(5, (7, 0, 4)), Elementwise(5, dim=D).double()
    out = encoder(texts.states, texts.mask)
    assert not out.states[1].any() and not out.summary[1].any()
    out.summary.pow(3).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 1e-9, name


@pytest.mark.parametrize("gate", ["tanh", "sigmoid", "linear"])
@pytest.mark.parametrize("vector_norm", ["none", "layer", "batch"])
def test_options_reach_every_block(gate: str, vector_norm: str) -> None:
    encoder = Elementwise(D, gate=gate, vector_norm=vector_norm)  # type: ignore[arg-type]
    attentions = [part for part in encoder.modules() if isinstance(part, ElementwiseMixing)]
    kind = {"none": nn.Identity, "layer": nn.LayerNorm, "batch": nn.BatchNorm1d}[vector_norm]
    same = ElementwiseMixing(D, gate=gate).gate  # type: ignore[arg-type]
    assert len(attentions) == 2
    assert all(attention.gate is same and isinstance(attention.vector.norm, kind) for attention in attentions)
