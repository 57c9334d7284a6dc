"""The twenty variants of the twenty-model report over several seeds, several runs at a time on one GPU.

`python -m benchmarks.variants --data-path=… --seeds=1,2,3 --jobs=8 --out=variants.json`

Every run is a process of its own. Runs that are finished in the folder are not repeated, so that the command can be
given again until nothing is missing; `--minutes` stops starting new ones.
"""

import argparse
import itertools
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ENCODERS = ("rnn", "lstm", "birnn", "bilstm")
ATTENTIONS = ("none", "bahdanau", "luong_dot", "luong_general", "luong_concat")
Job = tuple[str, str, str]


def run(job: Job, options: argparse.Namespace, until: float) -> Path | None:
    """One run; its folder, or None where time was up or it failed."""
    encoder, attention, seed = job
    folder = options.folder / "_".join(job)
    if (folder / "result.json").exists() or time.monotonic() > until:
        return folder
    command = [
        *(sys.executable, "-m", "src.train", "experiment=twenty_variants"),
        *(f"model/encoder={encoder}", f"model/attention={attention}", f"seed={seed}"),
        *(f"trainer={options.trainer}", "logger=csv", "~callbacks.progress", "~callbacks.parts_summary"),
        *(f"data.path='{options.data_path}'", f"hydra.run.dir='{folder}'", *options.overrides),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "output.txt").open("w") as output:
        subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
    return folder


def summary(folder: Path) -> dict[str, object] | None:
    """What a table needs of a run that is done."""
    path = folder / "result.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    if result.get("status") != "completed":
        return None
    return {
        **{key: result["choices"][key] for key in ("encoder", "attention")},
        **{key: result[key] for key in ("seed", "device", "precision", "texts_per_second", "seconds", "parameters")},
        **{key: result["metrics"][f"test/{key}"]["value"] for key in ("acc", "f1_macro", "auroc", "ece")},
        "epoch": result["best"]["epoch"],
        "peak_memory_mb": result["peak_memory_mb"],
        "versions": result["versions"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-path", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--seeds", type=lambda text: text.split(","), default=["1", "2", "3", "4", "5"])
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--trainer", default="gpu")
    parser.add_argument("--folder", type=lambda text: Path(text).resolve(), default=Path("outputs/variants").resolve())
    parser.add_argument("--out", type=Path, default=Path("variants.json"))
    parser.add_argument("overrides", nargs="*")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    jobs = [(e, a, s) for s, e, a in itertools.product(options.seeds, ENCODERS, ATTENTIONS)]  # seed by seed
    with ThreadPoolExecutor(options.jobs) as pool:
        folders = list(pool.map(lambda job: run(job, options, until), jobs))
    found = [row for folder in folders if folder and (row := summary(folder))]
    options.out.write_text(json.dumps(found, indent=1))
    print(f"{len(found)} of {len(jobs)} runs are done")


if __name__ == "__main__":
    main()
