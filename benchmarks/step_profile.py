"""Where the milliseconds of a training step go: `python -m benchmarks.step_profile [--tiny] [--device=cuda]`.

Heedful trains with its Trainer, and a bare loop trains the same model on the same batches: the floor. The table shows
the CPU milliseconds per step of each owner, without those of the owners that it calls; what nobody owns is Lightning's.
On a GPU, these are the milliseconds in which the CPU starts kernels; those of the kernels themselves follow. The clocks
cost less than a microsecond a call. Epochs before the measured one warm up, and capture graphs.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from rich.table import Table
from torch.profiler import ProfilerActivity, profile

from benchmarks import command, reviews
from benchmarks.heedful import HeedfulRunner, Sample, sample_batches
from benchmarks.speed import TEST, TRAIN, WORKLOADS
from heedful.base.errors import UserError
from heedful.data.padded_batches import Batch, Batches
from heedful.training import build
from heedful.training.callbacks.graphs import GraphedSteps

EPOCHS = 4  # the last one is measured; on a GPU, one more is profiled
KERNELS = 12  # kernels that are listed
TRAINER, BARE, REST = "Trainer", "bare loop", "Lightning's loop"
TINY = ("data.max_length=8", "model.embedding.dim=1")


class Clock:
    """The seconds and calls of each owner; the time of a call belongs to the innermost owner."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._inner = [0.0]  # for each open call, the seconds of the calls in it
        self._start = time.perf_counter()

    def stop(self, rest: str) -> None:
        """End the measurement; the time outside all calls is that of the owner `rest`."""
        self.seconds[rest] += time.perf_counter() - self._start - self._inner[0]

    def owned(self, owner: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a clock."""

        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            self._inner.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                seconds = time.perf_counter() - start
                self.seconds[owner] += seconds - self._inner.pop()
                self.calls[owner] += 1
                self._inner[-1] += seconds

        return timed

    def watch(self, owner: str, target: Any, *names: str) -> None:
        """Let the methods of an object have a clock."""
        for name in names:
            setattr(target, name, self.owned(owner, getattr(target, name)))


class Watch(pl.Callback):
    """Gives clocks to the module, the optimizer, the loggers and the hooks of the callbacks; measures an epoch."""

    def __init__(self, clock: Clock, kernels: "Kernels") -> None:
        self.clock, self.kernels = clock, kernels

    def on_train_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        clock = self.clock
        clock.watch("training_step, metrics", pl_module, "training_step")
        clock.watch("hooks of LitClassifier", pl_module, "on_train_batch_end")
        clock.watch("backward", pl_module, "backward")
        clock.watch("forward", pl_module.model, "forward")
        clock.watch("loss", pl_module.loss, "forward")
        optimizer = trainer.optimizers[0]
        clock.watch("optimizer", optimizer, "step", "zero_grad")
        step: Any = optimizer.step
        # Lightning computes the gradient in a closure, which the optimizer calls
        optimizer.step = lambda closure: step(clock.owned(REST, closure))  # type: ignore[method-assign]
        clock.watch("logging", pl_module, "log")
        for logger in trainer.loggers:
            clock.watch("logging", logger, "log_metrics", "save")
        for callback in trainer.callbacks:  # type: ignore[attr-defined]
            own = [
                name
                for name in dir(pl.Callback)
                if name.startswith("on_") and getattr(type(callback), name) is not getattr(pl.Callback, name)
            ]
            if callback is not self:
                clock.watch(f"hooks of {type(callback).__name__}", callback, *own)
            if isinstance(callback, GraphedSteps):
                clock.watch("replay of a graph", callback, "run_step")

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.kernels.start(trainer.current_epoch)
        if trainer.current_epoch < EPOCHS:
            self.clock.reset()

    def on_train_batch_end(self, trainer: pl.Trainer, *args: Any) -> None:
        if trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            callbacks = trainer.callbacks  # type: ignore[attr-defined]
            self.kernels.graphs = sum(len(each.graphs) for each in callbacks if isinstance(each, GraphedSteps))
            self.kernels.end(trainer.current_epoch, self.clock, REST)


class Kernels:
    """The end of an epoch: waits for the GPU, stops the clock and, in the last epoch, sums the kernels' time."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.profile: Any = None
        self.graphs = 0  # recorded shapes
        self.milliseconds: dict[str, float] = {}  # of all steps, by kernel

    def start(self, epoch: int) -> None:
        if epoch == EPOCHS:
            self.profile = profile(activities=[ProfilerActivity.CUDA])
            self.profile.__enter__()

    def end(self, epoch: int, clock: Clock, rest: str) -> None:
        if self.device == "cuda":
            clock.owned("waiting for the GPU", torch.cuda.synchronize)()
        if epoch == EPOCHS - 1:
            clock.stop(rest)
            self.times = dict(clock.seconds), dict(clock.calls)
        elif epoch == EPOCHS:
            self.profile.__exit__(None, None, None)
            events = self.profile.key_averages()
            self.milliseconds = {event.key: event.self_device_time_total / 1000 for event in events}


def trainer_times(runner: HeedfulRunner, steps: int, device: str) -> Kernels:
    """Train with the Trainer, and return the times of an epoch."""
    clock, kernels = Clock(), Kernels(device)
    runner.cfg.trainer.max_epochs = EPOCHS + (device == "cuda")
    trainer = build.trainer(runner.cfg, [Watch(clock, kernels)])
    trainer.fit(runner.module, Sample(_batches(runner, steps, clock)))
    return kernels


def bare_times(runner: HeedfulRunner, steps: int, device: str) -> Kernels:
    """Train with a loop of ten lines, and return the times of an epoch."""
    clock, kernels = Clock(), Kernels(device)
    model, loss = runner.module.model.to(device).train(), runner.module.loss.to(device)
    optimizer = build.optimizer(runner.cfg, model)
    clock.watch("optimizer", optimizer, "step", "zero_grad")
    bf16 = runner.cfg.trainer.precision != "32-true"
    forward, compute = clock.owned("forward", model.__call__), clock.owned("loss", loss.__call__)
    batches: Iterable[Batch] = _batches(runner, steps, clock)
    for epoch in range(EPOCHS + (device == "cuda")):
        kernels.start(epoch)
        clock.reset()
        for batch in batches:
            with torch.autocast(device, torch.bfloat16) if bf16 else nullcontext():
                value = compute(forward(batch.inputs), batch.targets)
            optimizer.zero_grad()
            clock.owned("backward", value.backward)()
            optimizer.step()
        kernels.end(epoch, clock, "the loop")
    return kernels


def _batches(runner: HeedfulRunner, steps: int, clock: Clock) -> Batches:
    size = runner.cfg.data.batch_size
    plan = sample_batches(runner.plan, runner.builder.lengths, steps * size)
    builder: Any = clock.owned("batch building", runner.builder)
    return Batches(builder, plan)


def profile_workload(name: str, options: argparse.Namespace, data: list[str], folder: Path) -> dict[str, Any]:
    """Return the milliseconds per step of each owner and kernel, for the Trainer and for the bare loop."""
    workload = WORKLOADS[name]
    tiny = [*TINY, "model.attention.heads=1" if "attention" in name else "model.encoder.hidden_dim=1"]
    precision = "trainer.precision=" + ("bf16-mixed" if options.device == "cuda" else "32-true")
    size = f"data.batch_size={options.batch_size}"
    overrides = [*workload.overrides, *data, precision, size, *(tiny if options.tiny else [])]
    record: dict[str, Any] = {"work": name, "batch_size": options.batch_size, "tiny": options.tiny}
    for kind, measure in ((TRAINER, trainer_times), (BARE, bare_times)):
        runner = HeedfulRunner(overrides, folder, options.device, options.graphs == "on")
        if options.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        times = measure(runner, options.steps, options.device)
        seconds, calls = times.times
        steps = calls["batch building"]
        record[kind] = {
            "owners": {owner: 1000 * value / steps for owner, value in seconds.items()},
            "calls": {owner: value / steps for owner, value in calls.items()},
            "kernels": {kernel: value / steps for kernel, value in times.milliseconds.items()},
            "graphs": times.graphs,
            "memory_mb": torch.cuda.max_memory_reserved() / 1e6 if options.device == "cuda" else None,
        }
    return record


def table(record: dict[str, Any], work: dict[str, Any]) -> Table:
    """Return the milliseconds per step of each owner, the largest first, and of the longest kernels."""
    title = f"{work['work']}{', 1 feature and 8 tokens' if work['tiny'] else ''}, batches of {work['batch_size']}"
    result = command.table(title, record, ("", f"{TRAINER}, ms/step", "calls/step", f"{BARE}, ms/step"))
    own, bare = work[TRAINER], work[BARE]

    def add(name: str, part: str, names: Iterable[str]) -> None:
        values = {key: (own[part].get(key), bare[part].get(key)) for key in names}
        for key in sorted(values, key=lambda key: -max(value or 0 for value in values[key])):
            cells = ["" if value is None else f"{value:.3f}" for value in values[key]]
            calls = f"{own['calls'][key]:.2f}" if part == "owners" and key in own["calls"] else ""
            result.add_row(key[:60], cells[0], calls, cells[1])
        result.add_row(f"[bold]{name}", f"{sum(own[part].values()):.3f}", "", f"{sum(bare[part].values()):.3f}")
        result.add_section()

    add("a step", "owners", own["owners"] | bare["owners"])
    if own["kernels"]:
        longest = sorted(own["kernels"], key=lambda kernel: -own["kernels"][kernel])[:KERNELS]
        add("all kernels", "kernels", longest)
    if own["memory_mb"] is not None:
        memory = [f"{each['memory_mb']:.0f}" for each in (own, bare)]
        result.add_row(f"MB of GPU memory, {own['graphs']} graphs", memory[0], "", memory[1])
    return result


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--graphs", choices=["off", "on"], default="off", help="run Heedful's steps as CUDA graphs")
    parser.add_argument("--tiny", action="store_true", help="one feature and 8 tokens: the time is all overhead")
    parser.add_argument("--batch-size", type=int, default=32, help="texts in a batch (32)")
    parser.add_argument("--steps", type=int, default=200, help="steps of an epoch (200)")
    command.add_names(parser, "--works", list(WORKLOADS), ["bilstm"])
    options = parser.parse_args(arguments)
    if options.quick:
        options.steps = 20
    if options.batch_size < 1 or options.steps < 1:
        parser.error("--batch-size and --steps must be above 0")
    return options


def main(folder: Path, arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device=cuda: torch finds no GPU on this machine; omit the option to train on the CPU")
    data = reviews.overrides(options.data_path, options.hub, folder, TRAIN, TEST)
    record: dict[str, Any] = {**command.new_record(options, options.device), "graphs": options.graphs, "works": []}
    for name in options.works:
        record["works"].append(profile_workload(name, options, data, folder))
        command.write(options.out, "step_profile", record)
        command.show(table(record, record["works"][-1]))


if __name__ == "__main__":
    command.start(main)
