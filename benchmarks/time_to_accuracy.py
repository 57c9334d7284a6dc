"""Test accuracy by seconds of training: presets of Heedful, and fastText with n-grams.

`python -m benchmarks.time_to_accuracy --data-path=…` trains both on the same reviews, with several seeds. fastText
(Joulin et al. 2016) is omitted unless it is installed (`pip install fasttext-wheel`). Made-up reviews are suitable for
smoke tests only.
"""

import argparse
import importlib
import importlib.util
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from rich.table import Table

from benchmarks import command, reviews
from benchmarks.heedful import configuration
from benchmarks.measure import Spread
from heedful.base.errors import UserError
from heedful.config.keys import CONF
from heedful.data.source import Source
from heedful.runs.result import RunResult
from heedful.training import build

FASTTEXT = {"wordNgrams": 2, "dim": 10, "lr": 0.25}  # as in the sentiment experiments of its paper, section 3.1
TUNED = FASTTEXT | {"wordNgrams": 4, "minCount": 2, "bucket": 8_000_000, "epoch": 25}  # selected on training reviews


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    presets = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))
    command.add_names(parser, "--presets", presets, default=["speedrun"])
    text = "epochs of fastText; each number is a training"
    parser.add_argument("--epochs", type=_numbers, default=[1, 2, 5, 10], help=text)
    parser.add_argument("--seeds", type=_numbers, default=[1, 2, 3, 4, 5])
    options = parser.parse_args(arguments)
    if options.quick:
        options.seeds, options.epochs = options.seeds[:1], options.epochs[:1]
    return options


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def words(text: str) -> list[str]:
    """Split a text into words and punctuation marks in lower case."""
    return re.findall(r"\w+|[^\w\s]", text.lower().replace("<br />", " "))


def fasttext_rows(data: Source, folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each training of fastText on Heedful's training reviews; no rows if fastText is not installed."""
    if importlib.util.find_spec("fasttext") is None:
        print("fastText is not installed and is omitted; to include it: pip install fasttext-wheel", file=sys.stderr)
        return
    fasttext = importlib.import_module("fasttext")
    files = {split: folder / f"{split}.txt" for split in ("train", "test")}
    for split, path in files.items():
        # shuffled here, because fastText does not shuffle
        rows = torch.randperm(data.sizes[split], generator=torch.Generator().manual_seed(0))
        texts, labels = data.texts(split, rows), data.tokenized(split).labels[rows]
        lines = (f"__label__{label} {' '.join(words(text))}\n" for label, text in zip(labels, texts, strict=True))
        path.write_text("".join(lines), encoding="utf-8")
    threads = torch.get_num_threads()
    settings = [("fastText bigrams", FASTTEXT | {"epoch": epochs}) for epochs in options.epochs]
    for program, setting in [*settings, ("fastText tuned", TUNED)]:
        name = f"{program}, {setting['epoch']} epoch{'s' * (setting['epoch'] > 1)}"
        for seed in options.seeds:
            start = time.perf_counter()
            model = fasttext.train_supervised(str(files["train"]), seed=seed, thread=threads, verbose=0, **setting)
            seconds = time.perf_counter() - start
            _, accuracy, _ = model.test(str(files["test"]))
            yield {"name": name, "seed": seed, "seconds": seconds, "accuracy": accuracy}


def heedful_rows(data: list[str], folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each training of a preset, with the seconds of its training epochs."""
    for preset in options.presets:
        for seed in options.seeds:
            run = folder / f"{preset}_{seed}"
            own = [f"experiment={preset}", f"seed={seed}", f"hydra.run.dir='{run}'"]
            command.train(*own, *data, "logger=csv", "callbacks=checkpoints")
            result = RunResult.load(run)
            accuracy, seconds = result.score("test/acc"), result.seconds.fit
            yield {"name": f"Heedful {preset}", "seed": seed, "seconds": seconds, "accuracy": accuracy}


def table(record: dict[str, Any]) -> Table:
    """Return a table of the medians over the seeds."""
    result = command.table("Time to accuracy", record, ("", "training, s", "test accuracy, %"))
    for name in dict.fromkeys(row["name"] for row in record["rows"]):
        rows = [row for row in record["rows"] if row["name"] == name]
        seconds = Spread.of([row["seconds"] for row in rows])
        percent = Spread.of([100 * row["accuracy"] for row in rows])
        result.add_row(name, seconds.format(1), percent.format(2))
    return result


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    count = 500 if options.quick else 25_000
    data = reviews.overrides(options.data_path, options.hub, folder, count, count)
    data += ["data.limit=500"] if options.quick else []
    record: dict[str, Any] = {**command.new_record(options), "rows": []}
    module = build.datamodule(configuration(data, folder, "cpu"))
    for rows in (heedful_rows(data, folder, options), fasttext_rows(module, folder, options)):
        for row in rows:
            record["rows"].append(row)
            command.write(options.out, "time_to_accuracy", record)
    if not record["rows"]:
        raise UserError("there is nothing to train: install fasttext-wheel, or select an experiment with --presets=…")
    command.show(table(record))


if __name__ == "__main__":
    command.start(main)
