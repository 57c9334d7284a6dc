"""Memory and speed on a corpus larger than the memory: `python -m benchmarks.scale --data-path=…`.

The program writes made-up texts of 200 words, with word frequencies that follow Zipf's law, to one CSV file, and trains
a BiLSTM with Bahdanau's attention on this file through `python -m src.train`. It prints the training steps per second
and two peaks of resident memory: with and without file-backed pages, which the system can free when other programs need
memory. Then the same model is trained on IMDb.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.memory import ROOT, megabytes
from src.run_result import RunResult

WORDS, VOCABULARY, HALF = 1_000_000, 100_000, 100  # words in the long text, vocabulary size, words in half of a text
INTERVAL = 0.1  # seconds between two readings of memory
BATCH = 32  # number of texts in a step
FIELDS = ("VmRSS", "RssAnon")  # resident memory with and without file-backed pages


def write_texts(path: Path, texts: int) -> None:
    """Write a CSV file of texts in two classes; each text consists of two random pieces of one long text."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, VOCABULARY + 1)
    words = [f"w{i:x}" for i in rng.choice(VOCABULARY, WORDS, p=shares / shares.sum())]
    with path.open("w") as file:
        file.write("text,label\n")
        for _ in range(0, texts, 1000):
            starts = rng.integers(0, WORDS - HALF, (1000, 2)).tolist()
            labels = rng.integers(0, 2, 1000).tolist()
            for (first, second), label in zip(starts, labels, strict=True):
                pieces = words[first : first + HALF] + words[second : second + HALF]
                file.write(f"{' '.join(pieces)},{label}\n")


def train(overrides: Sequence[str], folder: Path, steps: int) -> dict[str, float]:
    """Train for some steps, and return the memory peaks in MB, the seconds of the process, and the steps per second."""
    line = [
        *(sys.executable, "-m", "src.train", *overrides),
        *(f"hydra.run.dir='{folder / 'run'}'", f"data.cache_dir='{folder / 'cache'}'", "logger=csv", "test=false"),
        *("trainer.max_epochs=1", f"+trainer.limit_train_batches={steps}", "+trainer.limit_val_batches=1"),
        *(f"data.batch_size={BATCH}", "callbacks=progress"),
    ]
    peaks, start = dict.fromkeys(FIELDS, 0.0), time.perf_counter()
    process = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.DEVNULL)
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        for field in FIELDS:
            peaks[field] = max(peaks[field], megabytes(field, status) or 0.0)
        time.sleep(INTERVAL)
    if process.returncode:
        sys.exit(f"the training failed: {' '.join(line)}")
    rate = RunResult.load(folder / "run").texts_per_second or 0.0
    return {**peaks, "seconds": time.perf_counter() - start, "steps": rate / BATCH}


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--texts", type=int, default=2_000_000, help="number of made-up texts, rounded up to thousands")
    parser.add_argument("--steps", type=int, default=500, help="number of training steps")
    parser.add_argument("--data-path", help="folder of IMDb; without this option, only the made-up texts are used")
    parser.add_argument("--folder", help="folder for the temporary files, about 3 kB per text")
    args = parser.parse_args()
    with TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        write_texts(folder / "texts.csv", args.texts)
        print(f"{args.texts:,} texts, {(folder / 'texts.csv').stat().st_size / 1e6:,.0f} MB", flush=True)
        jobs = {"made-up texts": ["data=csv", f"data.path='{folder / 'texts.csv'}'"]}
        if args.data_path:
            jobs["IMDb"] = ["data=imdb", f"data.path='{args.data_path}'"]
        for name, overrides in jobs.items():
            for state in ("first run", "from the cache"):
                result = train(overrides, folder, args.steps)
                print(
                    f"{name}, {state}: {result['steps']:.2f} steps/s; peak {result['VmRSS']:,.0f} MB, "
                    f"{result['RssAnon']:,.0f} MB without file-backed pages; {result['seconds']:,.0f} s in all",
                    flush=True,
                )


if __name__ == "__main__":
    main()
