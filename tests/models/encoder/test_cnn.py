"""The convolutional encoder against its formula, computed token by token in float64."""

import pytest
import torch

from heedful.models.encoder.cnn import Cnn
from tests.models.reference import ragged

D, FILTERS, WIDTHS = 3, 5, (1, 2, 7)
LENGTHS = (11, 1, 4)


def test_each_state_reads_the_tokens_around_it_inside_the_text() -> None:
    torch.manual_seed(0)
    encoder = Cnn(D, widths=WIDTHS, filters=FILTERS).double()
    texts = ragged(D, LENGTHS)  # with numbers at padding
    with torch.no_grad():
        encoded = encoder(texts.states, texts.mask)
        assert encoded.states.shape == (len(LENGTHS), max(LENGTHS), encoder.output_dim)
        for n, length in enumerate(LENGTHS):
            for i in range(length):
                values = []
                for width, layer in zip(WIDTHS, encoder.convolutions, strict=True):
                    first = i - (width - 1) // 2
                    inside = [k for k in range(width) if 0 <= first + k < length]
                    for kernel, bias in zip(layer.weight, layer.bias, strict=True):  # D×width each
                        products = [float(kernel[:, k] @ texts.states[n, first + k]) for k in inside]
                        values.append(max(float(bias) + sum(products), 0))
                assert encoded.states[n, i].tolist() == pytest.approx(values)
            assert not encoded.states[n, length:].any()
            torch.testing.assert_close(encoded.summary[n], encoded.states[n, :length].max(0).values)


def test_a_filter_by_hand() -> None:
    """One filter of two tokens, the token and the next one: x_i − 2 x_i+1 + 1."""
    encoder = Cnn(1, widths=[2], filters=1)
    with torch.no_grad():
        encoder.convolutions[0].weight.copy_(torch.tensor([[[1.0, -2.0]]]))
        encoder.convolutions[0].bias.fill_(1.0)
        states = torch.tensor([[[3.0], [1.0], [5.0], [9.0]]])
        encoded = encoder(states, torch.tensor([[True, True, True, False]]))
    assert encoded.states.flatten().tolist() == [2.0, 0.0, 6.0, 0.0]  # 3 − 2 + 1, 1 − 10 + 1, 5 + 1
    assert encoded.summary.tolist() == [[6.0]]


def test_no_width_is_refused() -> None:
    with pytest.raises(ValueError, match=r"widths=\[\] must name at least one"):
        Cnn(D, widths=[])
