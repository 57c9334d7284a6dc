"""Seconds of training against test accuracy: Heed's presets and fastText on bigrams.

`python -m benchmarks.time_to_accuracy --data-path=…` trains both on the same reviews, over several seeds. fastText
(Joulin et al. 2016) comes with `pip install fasttext-wheel`; without it, it is left out. Made-up reviews show only
that it works.
"""

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import command, memory
from benchmarks.charts import draw_accuracy
from benchmarks.measure import Spread
from benchmarks.ours import Ours
from benchmarks.yardsticks import words
from src.cli.entry import CONF
from src.errors import UserError
from src.reports.figures.style import save

PRESET = "speedrun"
FASTTEXT = {"wordNgrams": 2, "dim": 10, "lr": 0.25}  # as in its paper on sentiment, section 3.1


def arguments(given: list[str]) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    presets = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))
    wanted = [name for name in ("speedrun",) if name in presets]
    parser.add_argument("--presets", type=command.names(presets), default=wanted, help="experiments of Heed's")
    parser.add_argument(
        "--epochs", type=_numbers, default=[1, 2, 5, 10], help="of fastText, each a training of its own"
    )
    parser.add_argument("--seeds", type=_numbers, default=[1, 2, 3, 4, 5])
    parser.add_argument("--target", type=float, default=0.906, help="the test accuracy to reach")
    options = parser.parse_args(given)
    if options.quick:
        options.seeds, options.epochs = options.seeds[:1], options.epochs[:1]
    return options


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def fasttext_rows(ours: Ours, folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each training of fastText, on the reviews that Heed trains on; none if it is not installed."""
    if importlib.util.find_spec("fasttext") is None:
        print("fastText is not installed and is left out: pip install fasttext-wheel", file=sys.stderr)
        return
    fasttext = importlib.import_module("fasttext")
    files = {split: folder / f"{split}.txt" for split in ("train", "test")}
    for split, path in files.items():
        rows = torch.randperm(ours.data.sizes[split], generator=torch.Generator().manual_seed(0))  # it does not shuffle
        texts, labels = ours.data.texts(split, rows), ours.data.tokenized(split).labels[rows]
        lines = (f"__label__{label} {' '.join(words(text))}\n" for label, text in zip(labels, texts, strict=True))
        path.write_text("".join(lines), encoding="utf-8")
    threads = torch.get_num_threads()
    for epochs in options.epochs:
        for seed in options.seeds:
            start = time.perf_counter()
            model = fasttext.train_supervised(
                str(files["train"]), epoch=epochs, seed=seed, thread=threads, verbose=0, **FASTTEXT
            )
            seconds = time.perf_counter() - start
            _, accuracy, _ = model.test(str(files["test"]))
            name = f"fastText bigrams, {epochs} epoch{'s' * (epochs > 1)}"
            yield {"name": name, "seed": seed, "seconds": seconds, "accuracy": accuracy}


def heed_rows(data: list[str], folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each training of a preset: the seconds are those of its training epochs."""
    for preset in options.presets:
        for seed in options.seeds:
            run = folder / f"{preset}_{seed}"
            line = [
                *(sys.executable, "-m", "src.train", f"experiment={preset}", *data, f"seed={seed}", "logger=csv"),
                *("callbacks=checkpoints", f"hydra.run.dir='{run}'"),
            ]
            done = subprocess.run(line, cwd=memory.ROOT, capture_output=True, text=True, check=False)
            if done.returncode:
                raise UserError(f"experiment={preset} failed:\n{done.stderr.strip() or done.stdout.strip()}")
            result = json.loads((run / "result.json").read_text())
            accuracy = result["metrics"]["test/acc"]["value"]
            yield {"name": f"Heed {preset}", "seed": seed, "seconds": result["seconds"]["fit"], "accuracy": accuracy}


def grouped(rows: list[dict[str, Any]]) -> dict[str, dict[str, Spread]]:
    """Seconds and accuracy of each name, over its seeds."""
    names = dict.fromkeys(row["name"] for row in rows)
    return {
        name: {
            field: Spread.of([row[field] for row in rows if row["name"] == name]) for field in ("seconds", "accuracy")
        }
        for name in names
    }


def first_to_reach(found: dict[str, dict[str, Spread]], target: float) -> str | None:
    """What has a median accuracy of at least `target` after the fewest seconds."""
    there = [name for name, figures in found.items() if figures["accuracy"].median >= target]
    return min(there, key=lambda name: found[name]["seconds"].median, default=None)


def table(record: dict[str, Any]) -> Table:
    """Medians over the seeds, and which was the first to reach the target."""
    found = grouped(record["rows"])
    shown = command.table("Time to accuracy", record, ("", "training, s", "test accuracy, %"))
    for name, figures in found.items():
        percent = Spread(*(100 * value for value in figures["accuracy"]))
        shown.add_row(name, figures["seconds"].show(1), percent.show(2))
    first = first_to_reach(found, record["target"])
    shown.caption = f"First to {100 * record['target']:g} %: {first or 'none of them'}"
    shown.caption_justify = "left"
    return shown


def main(folder: Path, given: list[str] | None = None) -> None:
    options = arguments(sys.argv[1:] if given is None else given)
    few = 500 if options.quick else 25_000
    data = [*command.reviews(options, folder, few, few), *(["data.limit=500"] if options.quick else [])]
    record: dict[str, Any] = {"machine": command.machine(), "data": command.described(options)}
    record |= {"target": options.target, "rows": []}
    ours = Ours(data, folder)
    for rows in (heed_rows(data, folder, options), fasttext_rows(ours, folder, options)):
        for row in rows:
            record["rows"].append(row)
            command.write(options.out, "time_to_accuracy", record)
    if not record["rows"]:
        raise UserError("nothing to train: install fasttext-wheel, or name an experiment with --presets=…")
    Console().print(table(record))
    save(draw_accuracy(record), options.out / "time_to_accuracy.png")
    print(f"Written to {options.out}: time_to_accuracy.json, time_to_accuracy.png")


if __name__ == "__main__":
    command.start(main)
