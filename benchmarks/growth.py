"""How cost grows: with the length of a text for each attention, and with the number of reviews.

`python -m benchmarks.growth` measures seconds and memory of a forward and a backward pass through each attention alone,
64 to 4,096 tokens, and of whole trainings on 1,000 to 16,000 made-up reviews.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # torch's profiler would report each start and stop

import torch
from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.profiler import ProfilerActivity, profile

from benchmarks import command, memory
from benchmarks.charts import draw_length, draw_reviews
from benchmarks.costs import MODEL, training
from benchmarks.reviews import overrides
from benchmarks.yardsticks import SoftmaxSelfAttention
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
PLAIN = "weights held"  # the yardstick: multi-head attention whose weights stand in memory
AGAINST = "multi_head"


def arguments(given: list[str]) -> argparse.Namespace:
    parser = command.parser(__doc__)
    known = [*ATTENTIONS, PLAIN]
    parser.add_argument("--attentions", type=command.names(known), default=known, help=", ".join(known))
    parser.add_argument("--repeats", type=int, default=5, help="measurements of a step's seconds")
    parser.add_argument("--only", choices=["length", "reviews"], help="one of the two")
    options = parser.parse_args(given)
    if options.repeats < 1:
        parser.error("--repeats must be above 0")
    options.lengths, options.reviews = LENGTHS, REVIEWS
    if options.quick:
        options.lengths, options.reviews, options.repeats = LENGTHS[:3], [200, 400], 1
    return options


class Held(nn.Module):
    """The yardstick behind the interface of Heed's attentions."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = SoftmaxSelfAttention(FEATURES, HEADS, dropout=0.0)

    def forward(self, encoded: Encoded) -> Encoded:
        return encoded._replace(states=self.attention(encoded.states))


def attention(name: str) -> nn.Module:
    """An attention with the options of its YAML."""
    if name == PLAIN:
        return Held()
    options = OmegaConf.load(CONF / "model" / "attention" / f"{name}.yaml")
    return build.make(OmegaConf.create({"model": {"attention": options}}), "model.attention", FEATURES)


def kind(part: nn.Module) -> str:
    """What an attention compares: a query with all tokens, all pairs of tokens, those within a window, or none."""
    kinds = {
        "query": QueryAttention,
        "window": WindowedAttention,
        "pairs": DotProductAttention,
        "elementwise": ElementwiseAttention,
        "held": Held,
    }
    return next((name for name, base in kinds.items() if isinstance(part, base)), "other")


def step(part: nn.Module, length: int) -> Callable[[], None]:
    """A forward and a backward pass over texts of this length."""
    states = torch.randn(TEXTS, length, FEATURES, requires_grad=True)
    mask = torch.ones(TEXTS, length, dtype=torch.bool)

    def run() -> None:
        encoded = Encoded(states, mask, states[:, -1])
        part(encoded).states.sum().backward()

    return run


def seconds(run: Callable[[], None], repeats: int) -> float:
    """Median over repeats, each of as many passes as fill a twentieth of a second."""
    start = time.perf_counter()
    run()
    passes = max(1, math.ceil(0.05 / (time.perf_counter() - start)))
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(passes):
            run()
        found.append((time.perf_counter() - start) / passes)
    return statistics.median(found)


def peak_megabytes(run: Callable[[], None]) -> float:
    """The most that a pass holds of tensors at a time, as torch's allocator counts it, besides what it was given."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    steps = sorted((event["ts"], event["args"]["Bytes"]) for event in events if event["name"] == "[memory]")
    return peak([size for _, size in steps]) / 2**20


def peak(changes: Sequence[float]) -> float:
    """The highest level that a sequence of gains and losses reaches, from 0."""
    level = highest = 0.0
    for change in changes:
        level += change
        highest = max(highest, level)
    return highest


def overtakes(lengths: Sequence[int], slow: Sequence[float], fast: Sequence[float]) -> float | None:
    """From which length on `fast` takes less than `slow`, between two measured ones on straight lines in logarithms.

    None if it does not at the last length; the first length if it always does.
    """
    gaps = [math.log(mine / other) for mine, other in zip(fast, slow, strict=True)]  # below 0: fast takes less
    above = [at for at, gap in enumerate(gaps) if gap >= 0]
    if not above:
        return float(lengths[0])
    if above[-1] == len(lengths) - 1:
        return None
    at = above[-1]
    share = gaps[at] / (gaps[at] - gaps[at + 1])
    return lengths[at] * (lengths[at + 1] / lengths[at]) ** share


def by_length(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds and MB of a step through each attention, and where elementwise overtakes the others."""
    rows = []
    for name in options.attentions:
        part = attention(name)
        steps = [step(part, length) for length in options.lengths]
        rows.append(
            {
                "attention": name,
                "kind": kind(part),
                "megabytes": [peak_megabytes(run) for run in steps],  # first: it warms up, too
                "seconds": [seconds(run, options.repeats) for run in steps],
            }
        )
    by_name = {row["attention"]: row for row in rows}
    mine = by_name.get("elementwise")
    crossings = {
        name: {field: overtakes(options.lengths, row[field], mine[field]) for field in ("seconds", "megabytes")}
        for name, row in by_name.items()
        if mine is not None and row is not mine
    }
    size = {"texts": TEXTS, "features": FEATURES}
    return {**size, "lengths": options.lengths, "attentions": rows, "overtakes": crossings, "against": AGAINST}


def by_reviews(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Seconds of tokenizing and of an epoch, and peak memory, of whole trainings on so many made-up reviews."""
    found: dict[str, Any] = {"reviews": options.reviews, "first": [], "cached": [], "epoch": [], "megabytes": []}
    for count in options.reviews:
        given = [*MODEL, *overrides(None, False, folder / str(count), count, count // 10)]
        job = {"overrides": given, "folder": str(folder)}
        found["first"].append(memory.run("benchmarks.tokenizing", job)["seconds"])
        found["cached"].append(memory.run("benchmarks.tokenizing", job)["seconds"])
        used = training(given, folder)
        found["epoch"].append(sum(used["epochs"]))
        found["megabytes"].append(memory.above_imports(used))
    return found


def tables(record: dict[str, Any]) -> Iterator[Table]:
    """Seconds, then memory: a row for each attention, and from which length on elementwise takes less."""
    found = record["length"]
    lengths = [str(length) for length in found["lengths"]]
    about = {**record, "data": f"{found['texts']} texts of so many tokens, {found['features']} features"}
    for field, what, unit in (("seconds", "Milliseconds", 1000), ("megabytes", "MB", 1)):
        shown = command.table(f"{what} of a step", about, ("", *lengths, "elementwise\nless from"))
        for row in found["attentions"]:
            crossing = found["overtakes"].get(row["attention"])
            said = f"{crossing[field]:,.0f}" if crossing and crossing[field] else "never" if crossing else ""
            shown.add_row(row["attention"], *(_three(unit * value) for value in row[field]), said)
        yield shown


def _three(value: float) -> str:
    """Three digits, or more of a large number."""
    return f"{value:.3g}" if value < 999 else f"{value:,.0f}"


def main(folder: Path, given: list[str] | None = None) -> None:
    options = arguments(sys.argv[1:] if given is None else given)
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
