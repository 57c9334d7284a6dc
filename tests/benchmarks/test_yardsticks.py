"""The plain loops are what they say they are."""

import math

import pytest
import torch
from torch import nn

from benchmarks.yardsticks import (
    FullAttentionModel,
    PackedReportModel,
    ReportModel,
    SoftmaxSelfAttention,
    padded,
    train,
)

TEXTS = ["A good film, good!", "bad<br />bad", "so so so so so so so so"]


def test_texts_become_rows_of_one_length() -> None:
    dataset, size = padded(TEXTS, torch.tensor([1, 0, 0]), 7, size=5)
    rows, lengths, labels = dataset.tensors
    assert size == 5
    assert lengths.tolist() == [6, 2, 7]
    assert labels.tolist() == [1, 0, 0]
    assert rows[1].tolist() == [4, 4, 0, 0, 0, 0, 0]  # so, good and bad are the three most frequent words
    assert rows[0].tolist() == [1, 3, 1, 1, 3, 1, 0]
    assert rows[2].tolist() == [2] * 7


@pytest.mark.parametrize("cell", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("both_ways", [False, True])
def test_packing_is_what_reading_each_text_alone_is(cell: type[nn.RNNBase], both_ways: bool) -> None:
    torch.manual_seed(0)
    packed = PackedReportModel(11, cell, both_ways).eval()
    alone = ReportModel(11, cell, both_ways).eval()
    alone.load_state_dict(packed.state_dict())
    tokens = torch.tensor([[2, 3, 4, 0, 0, 0, 0], [5, 6, 7, 8, 9, 0, 0]])
    lengths = torch.tensor([3, 5])
    with torch.no_grad():
        expected = [alone(row[None, :length], None) for row, length in zip(tokens, lengths, strict=True)]
        torch.testing.assert_close(packed(tokens, lengths), torch.cat(expected))
        assert not torch.allclose(alone(tokens, lengths), torch.cat(expected))  # (a) reads padding


def test_softmax_attention_is_multi_head_attention() -> None:
    torch.manual_seed(0)
    ours, theirs = SoftmaxSelfAttention(6, 3, 0.0), nn.MultiheadAttention(6, 3, batch_first=True)
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())
    states = torch.randn(2, 5, 6)
    torch.testing.assert_close(ours(states), theirs(states, states, states)[0])


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
    built = model(size)
    before = {name: parameter.clone() for name, parameter in built.named_parameters()}
    mixed = []
    built.register_forward_hook(lambda *_: mixed.append(torch.is_autocast_enabled("cpu")))
    speed = train(built, loss, dataset, bf16=bf16)
    assert set(mixed) == {bf16}
    assert speed > 0 and math.isfinite(speed)
    for name, parameter in built.named_parameters():
        if not name.endswith("key.bias"):  # it adds the same to all scores of a query
            assert not torch.equal(parameter, before[name]), name
