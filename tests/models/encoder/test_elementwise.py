import torch
from torch import Tensor, nn

from src.models.attention.elementwise import ElementwiseMixing
from src.models.encoder.elementwise import Elementwise
from src.models.encoder.transformer import AttentionSublayer, Block
from tests.models.reference import close, ragged

D, E = 7, 11


def normalize(layer: nn.Module, states: Tensor) -> Tensor:
    assert isinstance(layer, nn.LayerNorm)
    centred = states - states.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * layer.weight + layer.bias


def test_states_and_summary_follow_the_document() -> None:
    """A block computes x + attention(norm(x)), then x + W₂ relu(norm(W₁ norm(x))); the summary is E of the states."""
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
            x = x + around.attention.transform(normalize(around.before, x), texts.mask)
            first, inner, _, _, second = block.feed_forward.layers
            hidden = torch.relu(normalize(inner, first(normalize(block.around.before, x))))
            assert hidden.shape[-1] == E
            x = x + second(hidden)
        x = normalize(encoder.leave, x)
        output = encoder(texts.states, texts.mask)
        real = texts.mask.unsqueeze(-1)
        assert close(output.states, x * real)
        scores = (x @ encoder.vector.scores.weight.T).masked_fill(~real, -torch.inf)
        vector = (scores.softmax(1) * (x @ encoder.vector.values.weight.T)).sum(1)
        assert close(output.summary, normalize(encoder.vector.norm, vector))
