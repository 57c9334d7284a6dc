"""Training speed of Heedful and of plain PyTorch: `python -m benchmarks.speed [--bf16] [--device=cuda]`.

Each workload is a model that Heedful trains with its data module and Trainer, and that two plain PyTorch loops train
(see benchmarks/baselines.py): a competent loop, and one that pads all texts to a fixed length. The implementations
train in turn, each in its own process. On a GPU, all use bf16.
"""

import argparse
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.table import Table
from torch import nn

from benchmarks import command, implementation, reviews
from benchmarks.baselines import (
    Loop,
    PaddedRecurrentModel,
    PaddedSelfAttentionModel,
    RecurrentModel,
    SelfAttentionModel,
)
from benchmarks.measure import Reader, Spread, in_turn
from heedful.base.errors import UserError

TRAIN, TEST = 16_000, 100  # numbers of made-up reviews; enough for batches of similar lengths, as on IMDb
PLAIN_REVIEWS = 16_000  # maximum number of reviews of a plain loop
HEEDFUL, COMPETENT = "Heedful", "competent loop"


class Workload(NamedTuple):
    """A model that Heedful and plain loops train."""

    title: str
    overrides: tuple[str, ...]
    loops: tuple[Loop, ...]


def _recurrent(encoder: str, title: str, cell: type[nn.RNNBase], bidirectional: bool) -> Workload:
    """Return the workload of a model of the twenty-model report."""
    overrides = ("experiment=twenty_variants", f"model/encoder={encoder}", "model/attention=luong_general")
    loops = (
        Loop(COMPETENT, partial(RecurrentModel, cell=cell, bidirectional=bidirectional), None),
        Loop("padded to 500", partial(PaddedRecurrentModel, cell=cell, bidirectional=bidirectional), 500),
    )
    return Workload(f"{title} + Luong general", overrides, loops)


def _self_attention(length: int) -> Workload:
    """Return the workload of the full self-attention report with texts of at most `length` tokens."""
    loops = (
        Loop(COMPETENT, SelfAttentionModel, None),
        Loop(f"padded to {length}", PaddedSelfAttentionModel, length),
    )
    overrides = ("experiment=full_self_attention", f"data.max_length={length}")
    return Workload(f"full self-attention, {length} tokens", overrides, loops)


WORKLOADS = {
    "bilstm": _recurrent("bilstm", "BiLSTM", nn.LSTM, True),
    "lstm": _recurrent("lstm", "LSTM", nn.LSTM, False),
    "birnn": _recurrent("birnn", "BiRNN", nn.RNN, True),
    "rnn": _recurrent("rnn", "RNN", nn.RNN, False),
    "bigru": _recurrent("bigru", "BiGRU", nn.GRU, True),
    "gru": _recurrent("gru", "GRU", nn.GRU, False),
    "self_attention_256": _self_attention(256),
    "self_attention_500": _self_attention(500),
}


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument(
        "--bf16", action="store_true", help="train in bf16 on the CPU; on a GPU, training is always in bf16"
    )
    command.add_names(parser, "--works", list(WORKLOADS))
    command.add_names(parser, "--graphs", ["off", "on"], ["off"])
    parser.add_argument("--batch-size", type=command.sizes, default=[32], metavar="N,…", help="texts in a batch (32)")
    parser.add_argument("--seconds", type=float, default=4.0, help="seconds of one measurement")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each implementation, in turn")
    options = parser.parse_args(arguments)
    if options.quick:
        options.seconds, options.repeats = 0.5, 3
    if options.seconds <= 0 or options.repeats < 1:
        parser.error("--seconds and --repeats must be above 0")
    if options.device == "cpu" and "on" in options.graphs:
        parser.error("--graphs=on needs --device=cuda")
    options.bf16 = options.bf16 or options.device == "cuda"
    return options


def jobs(
    workload: Workload, overrides: list[str], batch_size: int, folder: Path, options: argparse.Namespace
) -> dict[str, implementation.Job]:
    """Return the job of each implementation, Heedful first, without and with graphs as selected."""
    from benchmarks.heedful import HeedfulRunner  # its imports take seconds

    heedful = HeedfulRunner(overrides, folder, options.device)  # fills the token cache for all implementations
    texts, labels = heedful.texts(PLAIN_REVIEWS)
    words = len(heedful.data.codec.tokenizer.vocabulary)
    result = {}
    for loop in (None, *workload.loops):
        for graphs in options.graphs:
            name = (HEEDFUL if loop is None else loop.name) + (", graphs" if graphs == "on" else "")
            own = ([], labels) if loop is None else (texts, labels)
            place = folder, options.device, options.bf16
            result[name] = implementation.Job(loop, overrides, *place, graphs == "on", batch_size, *own, words)
    return result


def speeds(jobs: dict[str, implementation.Job], title: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Measure the reviews per second of each implementation, in turn; one that fails is left out, and named."""
    with ExitStack() as stack:
        processes = {name: stack.enter_context(implementation.start(job)) for name, job in jobs.items()}
        readers = {name: _reader(process) for name, process in processes.items()}
        return in_turn(readers, options.seconds, options.repeats, title)


def _reader(process: Executor) -> Reader:
    return lambda reviews: process.submit(implementation.train, reviews).result()


def measure_workload(
    name: str, batch_size: int, options: argparse.Namespace, data: list[str], folder: Path
) -> dict[str, Any]:
    """Return the record of a workload: for each implementation, its speed and Heedful's speed relative to it.

    Heedful's speed is that with graphs, if these are measured.
    """
    workload = WORKLOADS[name]
    precision = "bf16-mixed" if options.bf16 else "32-true"
    overrides = [*workload.overrides, *data, f"trainer.precision={precision}", f"data.batch_size={batch_size}"]
    by_name = speeds(jobs(workload, overrides, batch_size, folder, options), workload.title, options)
    own = by_name.get(f"{HEEDFUL}, graphs", by_name.get(HEEDFUL, []))
    rows: list[dict[str, Any]] = [{"name": key, "reviews_per_second": values} for key, values in by_name.items()]
    for row in rows:  # a ratio for each round
        if row["reviews_per_second"] is not own:
            row["ratio"] = [heedful / other for heedful, other in zip(own, row["reviews_per_second"], strict=True)]
    return {"work": name, "title": workload.title, "batch_size": batch_size, "implementations": rows}


def table(record: dict[str, Any]) -> Table:
    """Return a table of medians and ranges."""
    title = "Training in bf16" if record["bf16"] else "Training"
    result = command.table(title, record, ("", "reviews/s", "ms/step", "speed of Heedful, ×"))
    for workload in record["works"]:
        result.add_section()
        result.add_row(f"[bold]{workload['title']}, batches of {workload['batch_size']}")
        for row in workload["implementations"]:
            ratio = Spread.of(row["ratio"]).format(2) if "ratio" in row else ""
            step = Spread.of([1000 * workload["batch_size"] / speed for speed in row["reviews_per_second"]])
            result.add_row(row["name"], Spread.of(row["reviews_per_second"]).format(0), step.format(2), ratio)
    return result


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device=cuda: torch finds no GPU on this machine; omit the option to train on the CPU")
    data = reviews.overrides(options.data_path, options.hub, folder, TRAIN, TEST)
    record: dict[str, Any] = {**command.new_record(options, options.device), "bf16": options.bf16, "works": []}
    for name, batch_size in product(options.works, options.batch_size):
        record["works"].append(measure_workload(name, batch_size, options, data, folder))
        command.write(options.out, "speed", record)  # after each workload, because the next one may be interrupted
    command.show(table(record))


if __name__ == "__main__":
    command.start(main)
