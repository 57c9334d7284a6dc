"""What is measured against what: each work is a model of Heed's, with the plain loops that train the same one."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from torch import nn

from benchmarks.yardsticks import FullAttentionModel, PackedReportModel, Plain, ReportModel

HEED, BARE = "Heed", "(d) bare loop, our parts"
PADDED, PACKED = "(a) padded to 500", "(b) packed sequences"


class Work(NamedTuple):
    """One model, trained by Heed, by plain loops, and perhaps by a bare loop over Heed's own parts."""

    title: str
    overrides: tuple[str, ...]
    plain: Mapping[str, Plain]
    bare: bool = False

    @property
    def contestants(self) -> list[str]:
        return [HEED, *self.plain, *[BARE] * self.bare]


def _report(encoder: str, title: str, cell: Callable[..., nn.RNNBase], both_ways: bool, whole: bool = False) -> Work:
    """A model of the twenty-model report; `whole` with every yardstick."""
    overrides = ("experiment=twenty_variants", f"model/encoder={encoder}", "model/attention=luong_general")
    models = {PADDED: ReportModel, **({PACKED: PackedReportModel} if whole else {})}
    plain = {
        name: Plain(partial(model, cell=cell, bidirectional=both_ways), nn.BCEWithLogitsLoss(), 500)
        for name, model in models.items()
    }
    return Work(f"{title} + Luong general", overrides, plain, bare=whole)


def _full(length: int) -> Work:
    """The model of the full self-attention report."""
    plain = {f"(c) padded to {length}": Plain(FullAttentionModel, nn.CrossEntropyLoss(), length)}
    overrides = ("experiment=full_self_attention", f"data.max_length={length}")
    return Work(f"full self-attention, {length} tokens", overrides, plain)


WORKS = {
    "bilstm": _report("bilstm", "BiLSTM", nn.LSTM, True, whole=True),
    "lstm": _report("lstm", "LSTM", nn.LSTM, False),
    "birnn": _report("birnn", "BiRNN", nn.RNN, True),
    "rnn": _report("rnn", "RNN", nn.RNN, False),
    "bigru": _report("bigru", "BiGRU", nn.GRU, True),
    "gru": _report("gru", "GRU", nn.GRU, False),
    "self_attention_256": _full(256),
    "self_attention_500": _full(500),
}
