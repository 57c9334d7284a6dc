"""Training speed against plain PyTorch, interleaved in one run: `python -m benchmarks.speed [--device=cuda]`.

Both train the same model, BiLSTM + Luong general, on the same reviews: the yardstick as the twenty-model report does
(padded to 500 tokens, batches of 32), Heed through its own data module and Trainer.
"""

import argparse
import json
import logging
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.yardsticks import ReportModel, loop, padded
from src import build
from src.callbacks.speed import Speed
from src.checkpoint import Card

CONF = Path(__file__).resolve().parents[1] / "conf"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--data-path", help="a folder with IMDb's parquet files; without it the hub is asked")
    parser.add_argument("--texts", type=int, default=1600, help="reviews in each of our epochs")
    parser.add_argument("--repeats", type=int, default=5, help="times that each of the two is measured, in turn")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    return parser.parse_args()


def configuration(options: argparse.Namespace, folder: str) -> Any:
    overrides = [
        "experiment=twenty_variants",
        "model/encoder=bilstm",
        "model/attention=luong_general",
        f"data.limit={options.texts}",
        f"paths.output_dir={folder}",
        f"trainer={'gpu' if options.device == 'cuda' else 'cpu'}",
        "trainer.max_epochs=1",
        "+trainer.limit_val_batches=0",
        "callbacks=none",
        "logger=none",
    ]
    if options.data_path:
        overrides.append(f"data.path='{Path(options.data_path).resolve()}'")
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", overrides)


def texts_per_second(step: Any, texts: int, device: str) -> float:
    """Speed of a loop that yields how many texts each of its steps took."""
    start, done = time.perf_counter(), 0
    while done < texts:
        done += next(step)
    if device == "cuda":
        torch.cuda.synchronize()
    return done / (time.perf_counter() - start)


def main() -> None:
    options = arguments()
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        cfg = configuration(options, folder)
        data = build.datamodule(cfg)
        module = build.module(cfg, Card(OmegaConf.to_container(cfg, resolve=True), data.codec, data.class_counts))
        texts = data.texts("train", range(data.sizes["train"]))
        rows, size = padded(texts, 500)
        model = ReportModel(size).to(options.device)
        labels = torch.from_numpy(data.part("train").labels)
        plain = loop(model, rows.to(options.device), labels.to(options.device))
        share = options.texts if options.device == "cuda" else options.texts // 4  # the slower one, over fewer
        texts_per_second(plain, share // 4, options.device)  # warm up
        figures: dict[str, list[float]] = {"plain loop": [], "heed": []}
        for repeat in track(range(options.repeats + 1), "Measuring", transient=True):
            speed = Speed()
            build.trainer(cfg, [speed]).fit(module, data)
            if repeat:  # the first warms up
                figures["heed"].append(speed.texts_per_second or 0.0)
                figures["plain loop"].append(texts_per_second(plain, share, options.device))
    ratios = [ours / theirs for ours, theirs in zip(figures["heed"], figures["plain loop"], strict=True)]
    show(figures, ratios, options)


def show(figures: dict[str, list[float]], ratios: list[float], options: argparse.Namespace) -> None:
    device = torch.cuda.get_device_name() if options.device == "cuda" else f"{platform.machine()}, CPU"
    table = Table(
        title=f"BiLSTM + Luong general, training, reviews a second ({device}, {torch.get_num_threads()} threads)"
    )
    for column in ("", "median", "min", "max"):
        table.add_column(column, justify="left" if not column else "right")
    for name, values in [*figures.items(), ("ratio", ratios)]:
        numbers = (statistics.median(values), min(values), max(values))
        table.add_row(name, *(f"{value:.2f}" if name == "ratio" else f"{value:,.0f}" for value in numbers))
    Console().print(table)
    if options.out:
        record = {"device": device, "torch": torch.__version__, "texts": options.texts, "ratio": ratios, **figures}
        options.out.write_text(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
