"""Seconds of a sweep by the number of runs at once: `python -m benchmarks.sweep_speed --device=cuda --mps=off,on`.

Ten of the twenty variants, LSTM and BiLSTM with each attention, train a few epochs, as many at once as `--jobs` says;
start, tests and the comparison included. The tokens are in the cache. On a GPU, the runs can share it by NVIDIA's MPS,
whose daemon this script starts and ends; otherwise, they take turns.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import command, reviews
from benchmarks.measure import Spread
from heedful.base.errors import UserError

ENCODERS, ATTENTIONS = ("lstm", "bilstm"), ("none", "bahdanau", "luong_dot", "luong_general", "luong_concat")
RUNS = len(ENCODERS) * len(ATTENTIONS)
JOBS = (4, 8, 15)
REVIEWS = 25_000  # made-up reviews for training, and as many for testing
CONTROL = "nvidia-cuda-mps-control"


@contextmanager
def sharing(is_on: bool, folder: Path) -> Iterator[None]:
    """Let NVIDIA's MPS execute the kernels of several processes at the same time."""
    if not is_on:
        yield
        return
    own, earlier = str(folder / "mps"), dict(os.environ)
    os.makedirs(own, exist_ok=True)
    os.environ |= {"CUDA_MPS_PIPE_DIRECTORY": own, "CUDA_MPS_LOG_DIRECTORY": own}
    try:
        subprocess.run([find_control(), "-d"], check=True)
        yield
    finally:
        subprocess.run([find_control()], input="quit\n", text=True, check=False)
        os.environ.clear()
        os.environ.update(earlier)


def find_control() -> str:
    """Return the path of the daemon's command."""
    found = shutil.which(CONTROL) or shutil.which(CONTROL, path="/usr/local/nvidia/bin")
    if found is None:
        raise UserError(f"--mps=on: {CONTROL} is not installed: use --mps=off")
    return found


def sweep(overrides: Sequence[str], jobs: int, folder: Path) -> float:
    """Run the sweep in a new folder, and return its seconds."""
    start = time.perf_counter()
    command.train(
        "-m", *overrides, "hydra/launcher=joblib", f"hydra.launcher.n_jobs={jobs}", f"hydra.sweep.dir='{folder}'"
    )
    return time.perf_counter() - start


def main(folder: Path, arguments: list[str] | None = None) -> None:
    parser = command.parser(__doc__)
    command.add_data(parser)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    command.add_names(parser, "--mps", ("off", "on"), ["off"])
    parser.add_argument("--jobs", type=command.sizes, default=list(JOBS), metavar="N,…", help="runs at once (4,8,15)")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1, help="rounds in which each setting has its turn")
    options = parser.parse_args(arguments)
    count = REVIEWS // 250 if options.quick else REVIEWS
    overrides = [
        "experiment=twenty_variants",
        f"trainer={'gpu' if options.device == 'cuda' else 'cpu'}",
        f"trainer.max_epochs={1 if options.quick else options.epochs}",
        *reviews.overrides(options.data_path, options.hub, folder, count, count),
    ]
    if "on" in options.mps:
        find_control()
    one = ["model/encoder=lstm", "model/attention=none"]
    command.train(*overrides, *one, "+trainer.limit_train_batches=1", f"hydra.run.dir='{folder / 'tokens'}'")
    overrides += [f"model/encoder={','.join(ENCODERS)}", f"model/attention={','.join(ATTENTIONS)}"]
    settings = [(mps, jobs) for mps in options.mps for jobs in options.jobs]
    record = {**command.new_record(options, options.device), "epochs": options.epochs, "seconds": {}}
    for number in range(options.repeats):
        for mps, jobs in settings:
            print(f"Round {number + 1}: MPS {mps}, {jobs} runs at once …", file=sys.stderr, flush=True)
            with sharing(mps == "on", folder):
                seconds = sweep(overrides, jobs, folder / f"{number}_{mps}_{jobs}")
            record["seconds"].setdefault(f"MPS {mps}, {jobs} at once", []).append(seconds)
            command.write(options.out, "sweep_speed", record)
    title = f"Sweep of {RUNS} runs"
    table = command.table(title, record, ("", "seconds (lowest to highest)", "runs/min"))
    for name, values in record["seconds"].items():
        spread = Spread.of(values)
        table.add_row(name, spread.format(1), f"{60 * RUNS / spread.median:.1f}")
    command.show(table)


if __name__ == "__main__":
    command.start(main)
