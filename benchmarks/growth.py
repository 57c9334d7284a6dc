"""Cost of each attention mechanism by text length, and cost of training by number of reviews.

`python -m benchmarks.growth` measures the time and memory of a forward and a backward pass through each attention
mechanism, for 64 to 4,096 tokens, and of whole training runs on 1,000 to 16,000 made-up reviews.
"""

import argparse
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # otherwise torch's profiler logs each start and stop

import torch
from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.profiler import ProfilerActivity, profile

from benchmarks import command, memory
from benchmarks.baselines import SoftmaxSelfAttention
from benchmarks.charts import draw_length, draw_reviews
from benchmarks.costs import MODEL, tokenize_twice, training
from benchmarks.reviews import overrides
from src import build
from src.cli.entry import CONF
from src.models.attention.dot_product import DotProductAttention
from src.models.attention.elementwise import ElementwiseAttention
from src.models.attention.query import QueryAttention
from src.models.attention.windowed import WindowedAttention
from src.models.types import Encoded
from src.reports.figures.style import save_figure

LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096]
REVIEWS = [1000, 2000, 4000, 8000, 16_000]
ATTENTIONS = sorted({path.stem for path in (CONF / "model" / "attention").glob("*.yaml")} - {"none"})
TEXTS, FEATURES, HEADS = 4, 128, 4  # N, D and H of a step
PLAIN = "stored weights"  # the baseline: multi-head attention that stores the weights
AGAINST = "multi_head"


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_names(parser, "--attentions", [*ATTENTIONS, PLAIN])
    parser.add_argument("--repeats", type=int, default=5, help="number of measurements of each pass")
    parser.add_argument("--only", choices=["length", "reviews"], help="measure only the cost by length or by reviews")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error("--repeats must be above 0")
    options.lengths, options.reviews = LENGTHS, REVIEWS
    if options.quick:
        options.lengths, options.reviews, options.repeats = LENGTHS[:3], [200, 400], 1
    return options


class StoredWeights(nn.Module):
    """The baseline, multi-head attention that stores the weights, with the interface of Heed's attention components."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = SoftmaxSelfAttention(FEATURES, HEADS, dropout=0.0)

    def forward(self, encoded: Encoded) -> Encoded:
        return encoded._replace(states=self.attention(encoded.states))


def attention(name: str) -> nn.Module:
    """Build an attention mechanism with the options in its YAML file."""
    if name == PLAIN:
        return StoredWeights()
    options = OmegaConf.load(CONF / "model" / "attention" / f"{name}.yaml")
    return build.make(OmegaConf.create({"model": {"attention": options}}), "model.attention", FEATURES)


def kind(module: nn.Module) -> str:
    """Return the kind of an attention mechanism: query, window, pairs, elementwise, stored (the baseline) or other."""
    kinds = {
        "query": QueryAttention,
        "window": WindowedAttention,
        "pairs": DotProductAttention,
        "elementwise": ElementwiseAttention,
        "stored": StoredWeights,
    }
    return next((name for name, base in kinds.items() if isinstance(module, base)), "other")


def step(module: nn.Module, length: int) -> Callable[[], None]:
    """Return a function that runs a forward and a backward pass over texts of this length."""
    states = torch.randn(TEXTS, length, FEATURES, requires_grad=True)
    mask = torch.ones(TEXTS, length, dtype=torch.bool)

    def run() -> None:
        encoded = Encoded(states, mask, states[:, -1])
        module(encoded).states.sum().backward()

    return run


def seconds(run: Callable[[], None], repeats: int) -> float:
    """Return the median seconds of a pass; each repeat runs enough passes to last about a twentieth of a second."""
    start = time.perf_counter()
    run()
    passes = max(1, math.ceil(0.05 / (time.perf_counter() - start)))
    seconds_per_pass = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(passes):
            run()
        seconds_per_pass.append((time.perf_counter() - start) / passes)
    return statistics.median(seconds_per_pass)


def peak_megabytes(run: Callable[[], None]) -> float:
    """Return the peak MB of the tensors that a pass allocates, according to torch's profiler."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    steps = sorted((event["ts"], event["args"]["Bytes"]) for event in events if event["name"] == "[memory]")
    return peak(size for _, size in steps) / 2**20


def peak(changes: Iterable[float]) -> float:
    """Return the maximum cumulative sum of the changes, at least 0."""
    return max(accumulate(changes, initial=0.0))


def overtakes(lengths: Sequence[int], slow: Sequence[float], fast: Sequence[float]) -> float | None:
    """Return the length above which `fast` is below `slow`, by linear interpolation of the logarithms.

    Returns None if `fast` is not below `slow` at the last length, and the first length if it is below at all lengths.
    """
    gaps = [math.log(a / b) for a, b in zip(fast, slow, strict=True)]  # negative: fast is below slow
    above = [i for i, gap in enumerate(gaps) if gap >= 0]
    if not above:
        return float(lengths[0])
    if above[-1] == len(lengths) - 1:
        return None
    i = above[-1]
    fraction = gaps[i] / (gaps[i] - gaps[i + 1])
    return lengths[i] * (lengths[i + 1] / lengths[i]) ** fraction


def by_length(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the seconds and MB of a pass by attention mechanism, and the lengths that `overtakes` computes."""
    rows = []
    for name in options.attentions:
        module = attention(name)
        steps = [step(module, length) for length in options.lengths]
        rows.append(
            {
                "attention": name,
                "kind": kind(module),
                "megabytes": [peak_megabytes(run) for run in steps],  # before the seconds, because this also warms up
                "seconds": [seconds(run, options.repeats) for run in steps],
            }
        )
    by_name = {row["attention"]: row for row in rows}
    elementwise = by_name.get("elementwise")
    crossings = {
        name: {field: overtakes(options.lengths, row[field], elementwise[field]) for field in ("seconds", "megabytes")}
        for name, row in by_name.items()
        if elementwise is not None and row is not elementwise
    }
    size = {"texts": TEXTS, "features": FEATURES}
    return {**size, "lengths": options.lengths, "attentions": rows, "overtakes": crossings, "against": AGAINST}


def by_reviews(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure the seconds of tokenizing and of a training epoch, and the peak memory, by number of made-up reviews."""
    record: dict[str, Any] = {"reviews": options.reviews, "first": [], "cached": [], "epoch": [], "megabytes": []}
    for count in options.reviews:
        job_overrides = [*MODEL, *overrides(None, False, folder / str(count), count, count // 10)]
        first, cached = tokenize_twice(job_overrides, folder)
        record["first"].append(first)
        record["cached"].append(cached)
        used = training(job_overrides, folder)
        record["epoch"].append(sum(used["epochs"]))
        record["megabytes"].append(memory.above_imports(used))
    return record


def tables(record: dict[str, Any]) -> Iterator[Table]:
    """Yield tables of time and memory by attention mechanism.

    The last column is the length above which elementwise attention needs less.
    """
    section = record["length"]
    lengths = [str(length) for length in section["lengths"]]
    source = {**record, "data": f"{section['texts']} texts by number of tokens, {section['features']} features"}
    for field, quantity, unit in (("seconds", "Milliseconds", 1000), ("megabytes", "MB", 1)):
        result = command.table(f"{quantity} per step", source, ("", *lengths, "elementwise\nless above"))
        for row in section["attentions"]:
            crossing = section["overtakes"].get(row["attention"])
            limit = f"{crossing[field]:,.0f}" if crossing and crossing[field] else "never" if crossing else ""
            result.add_row(row["attention"], *(_three_digits(unit * value) for value in row[field]), limit)
        yield result


def _three_digits(value: float) -> str:
    """Format a value with three significant digits, or without decimals from 999 on."""
    return f"{value:.3g}" if value < 999 else f"{value:,.0f}"


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    record: dict[str, Any] = {"machine": command.machine()}
    if options.only != "reviews":
        record["length"] = by_length(options)
        command.write(options.out, "growth", record)
        Console().print(*tables(record))
        save_figure(draw_length(record["length"]), options.out / "growth_length.png")
    if options.only != "length":
        record["reviews"] = by_reviews(options, folder)
        command.write(options.out, "growth", record)
        save_figure(draw_reviews(record["reviews"]), options.out / "growth_reviews.png")
    print(f"Written to {options.out}: growth.json and its charts")


if __name__ == "__main__":
    command.start(main)
