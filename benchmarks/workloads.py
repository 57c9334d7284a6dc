"""The workloads of the speed benchmark: models of Heed, and plain PyTorch loops that train the same models."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from torch import nn

from benchmarks.baselines import FullAttentionModel, PackedReportModel, Plain, ReportModel

HEED, BARE = "Heed", "(d) bare loop, Heed's model"
PADDED, PACKED = "(a) padded to 500", "(b) packed sequences"


class Workload(NamedTuple):
    """A model that is trained by Heed, by plain PyTorch loops, and optionally by a bare loop over Heed's own model."""

    title: str
    overrides: tuple[str, ...]
    plain: Mapping[str, Plain]
    bare: bool = False

    @property
    def implementations(self) -> list[str]:
        return [HEED, *self.plain, *[BARE] * self.bare]


def _report(
    encoder: str, title: str, cell: Callable[..., nn.RNNBase], bidirectional: bool, full: bool = False
) -> Workload:
    """Return the workload of a model of the twenty-model report; `full` adds the baselines (b) and (d)."""
    overrides = ("experiment=twenty_variants", f"model/encoder={encoder}", "model/attention=luong_general")
    models = {PADDED: ReportModel, **({PACKED: PackedReportModel} if full else {})}
    plain = {
        name: Plain(partial(model, cell=cell, bidirectional=bidirectional), nn.BCEWithLogitsLoss(), 500)
        for name, model in models.items()
    }
    return Workload(f"{title} + Luong general", overrides, plain, bare=full)


def _full(length: int, batch: int = 32) -> Workload:
    """Return the workload of the full self-attention report with texts of `length` tokens.

    Heed trains in batches of `batch` texts; the plain loop always trains in batches of 32, as in the report.
    """
    plain = {f"(c) padded to {length}": Plain(FullAttentionModel, nn.CrossEntropyLoss(), length)}
    overrides = ("experiment=full_self_attention", f"data.max_length={length}", f"data.batch_size={batch}")
    title = f"full self-attention, {length} tokens"
    return Workload(title if batch == 32 else f"{title}, Heed in batches of {batch}", overrides, plain)


WORKLOADS = {
    "bilstm": _report("bilstm", "BiLSTM", nn.LSTM, True, full=True),
    "lstm": _report("lstm", "LSTM", nn.LSTM, False),
    "birnn": _report("birnn", "BiRNN", nn.RNN, True),
    "rnn": _report("rnn", "RNN", nn.RNN, False),
    "bigru": _report("bigru", "BiGRU", nn.GRU, True),
    "gru": _report("gru", "GRU", nn.GRU, False),
    "self_attention_256": _full(256),
    "self_attention_500": _full(500),
    "self_attention_256_in_64": _full(256, batch=64),
}
