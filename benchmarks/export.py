"""Measure the size, speed and accuracy of a model in torch, ONNX, and ONNX with int8 weights.

    python -m benchmarks.export <run>/checkpoints/best.ckpt

The three models take turns at classifying the test split of the training run, in batches of texts of similar length, by
default on two threads. The interval of a difference in accuracy comes from a paired bootstrap over the texts.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf
from rich.console import Console

from benchmarks import command
from benchmarks.measure import Reader, Spread, in_turn
from src import build
from src.data.padded_batches import Batch
from src.extras import require_extra
from src.portable.onnx_model import PortableModel, convert, feed, load_session
from src.portable.quantization import compare_hits, quantize

BATCHES = 400  # approximate number of timed batches


def main(folder: Path) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("checkpoint", type=Path, help="checkpoint of a training run whose data are still readable")
    parser.add_argument("--threads", type=int, default=2, help="number of threads for each model (2)")
    command.add_turns(parser)
    options = command.parse_turns(parser, None, quick_repeats=2)
    require_extra("onnx", "onnxruntime", "onnxscript", "safetensors", by="python -m benchmarks.export", extra="export")
    torch.set_num_threads(options.threads)
    card, (model, loss) = build.restore(str(options.checkpoint), OmegaConf.create({"trusted_modules": []}))
    portable = PortableModel(model, loss, len(card.codec.tokenizer.vocabulary), card.codec.truncation.max_length).eval()
    convert(portable, folder / "fp32.onnx")
    quantize(folder / "fp32.onnx", folder / "int8.onnx")
    torch.save(portable.state_dict(), folder / "torch.pt")
    files = {"torch": "torch.pt", "ONNX": "fp32.onnx", "ONNX int8": "int8.onnx"}
    models: dict[str, Any] = {"torch": torch.inference_mode()(portable)}
    for name in ("ONNX", "ONNX int8"):
        session = load_session(folder / files[name], options.threads)
        models[name] = lambda tokens, mask, run=session.run: run(None, feed(tokens.numpy(), mask.numpy()))
    data = build.datamodule(card.cfg, card.codec)
    batches = list(data.test_dataloader())
    timed = batches[:: max(1, len(batches) // BATCHES)]
    readers = {name: _reader(run, timed) for name, run in models.items()}
    speeds = in_turn(readers, options.seconds, options.repeats, "Classifying")
    labels = np.concatenate([batch.labels.numpy() for batch in batches])
    hits = {
        name: np.concatenate([np.asarray(run(batch.tokens, batch.mask)[0]).argmax(1) for batch in batches]) == labels
        for name, run in models.items()
    }
    record: dict[str, Any] = {"machine": command.machine(), "data": f"{len(labels):,} test texts", "models": {}}
    table = command.table("Export", record, ["", "MB", "texts/s", "accuracy", "difference, points (95 %)"])
    for name, file in files.items():
        size = (folder / file).stat().st_size / 1e6
        loss = compare_hits(hits["torch"], hits[name])
        difference = [100 * number for number in (loss.quantized - loss.original, loss.low, loss.high)]
        record["models"][name] = {
            "megabytes": size,
            "texts_per_second": speeds[name],
            "accuracy": loss.quantized,
            "difference": difference,
        }
        change = "–" if name == "torch" else "{:+.2f} ({:+.2f} to {:+.2f})".format(*difference)
        table.add_row(name, f"{size:,.1f}", Spread.of(speeds[name]).format(0), f"{loss.quantized:.2%}", change)
    command.write(options.out, "export", record)
    Console().print(table)


def _reader(run: Any, batches: list[Batch]) -> Reader:
    def read(texts: int) -> float:
        count, number, start = 0, 0, time.perf_counter()
        while count < texts:
            batch = batches[(number * 7919) % len(batches)]  # a fixed order in which the lengths vary
            run(batch.tokens, batch.mask)
            count, number = count + len(batch.labels), number + 1
        return count / (time.perf_counter() - start)

    return read


if __name__ == "__main__":
    command.start(main)
