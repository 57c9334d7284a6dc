"""The models of the baselines, compared with reference models."""

import math

import pytest
import torch
from torch import nn

from benchmarks.baselines import (
    FullAttentionModel,
    PackedReportModel,
    ReportModel,
    SoftmaxSelfAttention,
    padded,
    train,
)

TEXTS = ["A good film, good!", "bad<br />bad", "so so so so so so so so"]


def test_texts_are_padded_to_one_length() -> None:
    dataset, size = padded(TEXTS, torch.tensor([1, 0, 0]), 7, size=5)
    rows, lengths, labels = dataset.tensors
    assert size == 5
    assert lengths.tolist() == [6, 2, 7]
    assert labels.tolist() == [1, 0, 0]
    assert rows[1].tolist() == [4, 4, 0, 0, 0, 0, 0]  # so, good and bad are the three most frequent words
    assert rows[0].tolist() == [1, 3, 1, 1, 3, 1, 0]
    assert rows[2].tolist() == [2] * 7


@pytest.mark.parametrize("cell", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_texts_equal_single_texts(cell: type[nn.RNNBase], bidirectional: bool) -> None:
    torch.manual_seed(0)
    packed = PackedReportModel(11, cell, bidirectional).eval()
    single = ReportModel(11, cell, bidirectional).eval()
    single.load_state_dict(packed.state_dict())
    tokens = torch.tensor([[2, 3, 4, 0, 0, 0, 0], [5, 6, 7, 8, 9, 0, 0]])
    lengths = torch.tensor([3, 5])
    with torch.no_grad():
        expected = [single(row[None, :length], None) for row, length in zip(tokens, lengths, strict=True)]
        torch.testing.assert_close(packed(tokens, lengths), torch.cat(expected))
        assert not torch.allclose(single(tokens, lengths), torch.cat(expected))  # the model of (a) depends on padding


def test_softmax_attention_equals_multi_head_attention() -> None:
    torch.manual_seed(0)
    plain, reference = SoftmaxSelfAttention(6, 3, 0.0), nn.MultiheadAttention(6, 3, batch_first=True)
    projections = (plain.query, plain.key, plain.value)
    with torch.no_grad():
        reference.in_proj_weight.copy_(torch.cat([projection.weight for projection in projections]))
        reference.in_proj_bias.copy_(torch.cat([projection.bias for projection in projections]))
    reference.out_proj.load_state_dict(plain.output.state_dict())
    states = torch.randn(2, 5, 6)
    torch.testing.assert_close(plain(states), reference(states, states, states)[0])


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (lambda size: ReportModel(size, nn.RNN, False), nn.BCEWithLogitsLoss()),
        (PackedReportModel, nn.BCEWithLogitsLoss()),
        (lambda size: FullAttentionModel(size, size=8, heads=2), nn.CrossEntropyLoss()),
    ],
)
def test_a_plain_loop_trains_every_parameter(model, loss, bf16) -> None:  # type: ignore[no-untyped-def]
    dataset, size = padded(TEXTS, torch.tensor([1, 0, 0]), 7)
    module = model(size)
    before = {name: parameter.clone() for name, parameter in module.named_parameters()}
    autocast = []
    module.register_forward_hook(lambda *_: autocast.append(torch.is_autocast_enabled("cpu")))
    speed = train(module, loss, dataset, bf16=bf16)
    assert set(autocast) == {bf16}
    assert speed > 0 and math.isfinite(speed)
    for name, parameter in module.named_parameters():
        if not name.endswith("key.bias"):  # adds a constant to the scores of a query, which softmax ignores
            assert not torch.equal(parameter, before[name]), name
