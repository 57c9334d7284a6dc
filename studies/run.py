"""Run the sweeps of the study that are not yet released, and release each sweep when it is completed.

python -m studies.run --path imdb=<folder> --path sst2=<folder> --path rotten_tomatoes=<train.tsv>

All sweeps are run with the first seed, then with the second, and so on. Interrupted sweeps are resumed. Without their
`--path`, IMDb and SST-2 are downloaded. Sweeps on the Rotten Tomatoes phrases need `--path rotten_tomatoes=…`.
"""

import argparse
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from heedful.base.errors import UserError
from heedful.base.process import exit_with_message
from heedful.config.overrides import quote
from heedful.runs.result import RunResult
from studies.plan import ROOT, Plan, PlannedSweep, load_plan, release_file
from studies.release import write_release

OUTPUTS = Path("outputs/study")
IMDB, SST2, PHRASES = "imdb", "sst2", "rotten_tomatoes"


class Task(NamedTuple):
    """A sweep with one seed."""

    name: str
    sweep: PlannedSweep
    seed: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the missing sweeps, and release their records."""
    with exit_with_message("standard output"):
        plan = load_plan()
        options = _parser(plan).parse_args(arguments)
        paths = dict(options.path)
        tasks = list(missing_tasks(plan, options.only or list(plan.sweeps), options.seeds))
        if PHRASES not in paths:
            skipped = dict.fromkeys(task.name for task in tasks if task.sweep.data == PHRASES)
            tasks = [task for task in tasks if task.name not in skipped]
            print(*(f"{name} is omitted: it requires --path {PHRASES}=<train.tsv>" for name in skipped), sep="\n")
        for number, task in enumerate(tasks, 1):
            print(f"Sweep {number} of {len(tasks)}: {task.name}, seed {task.seed}", flush=True)
            file = release_file(task.name, task.seed)
            count = write_release(_run(task, paths, options.jobs), file)
            print(f"Released {count} runs: {file} ({file.stat().st_size / 1e6:.2f} MB)", flush=True)


def missing_tasks(plan: Plan, names: Sequence[str], seeds: Sequence[int] | None = None) -> Iterator[Task]:
    """Yield the sweeps that are not released, ordered by seed, then as in `names`.

    Args:
        names: sweeps to run.
        seeds: seeds to run; None for all seeds of the plan.
    """
    for seed in sorted({seed for name in names for seed in plan.sweeps[name].seeds}):
        for name in names:
            wanted = seed in plan.sweeps[name].seeds and (seeds is None or seed in seeds)
            if wanted and not release_file(name, seed).exists():
                yield Task(name, plan.sweeps[name], seed)


def _run(task: Task, paths: dict[str, str], jobs: int) -> Path:
    """Start or resume the sweep in a separate process, and return its folder."""
    folder = OUTPUTS / task.name / f"seed_{task.seed}"
    runs = math.prod(len(override.partition("=")[2].split(",")) for override in task.sweep.overrides)
    # a single run uses all threads
    launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={jobs}"] if jobs > 1 and runs > 1 else []
    line = ["-m", *task.sweep.overrides, f"seed={task.seed}", "logger=csv", f"hydra.sweep.dir={quote(str(folder))}"]
    if task.sweep.data in paths:
        line.append(f"data.path={quote(paths[task.sweep.data])}")
    if (folder / "sweep.json").exists():
        line = [f"sweep.resume={quote(str(folder))}"]
    code = subprocess.run([sys.executable, "-m", "src.train", *line, *launcher], cwd=ROOT).returncode
    failed = [run.name for run in sorted(folder.glob("[!.]*/")) if RunResult.load(run).status != "completed"]
    if code or failed:
        raise UserError(f"{task.name}, seed {task.seed} is not completed: run the same command again to resume it")
    return folder


def _parser(plan: Plan) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m studies.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--path", action="append", default=[], type=_parse_path, metavar="NAME=PATH", help="local data, as above"
    )
    parser.add_argument("--only", nargs="+", choices=plan.sweeps, metavar="SWEEP", help="sweeps to run; default: all")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="SEED", help="seeds to run; default: all")
    parser.add_argument(
        "--jobs", type=int, default=2, help="number of concurrent runs, which share the threads; default: 2"
    )
    return parser


def _parse_path(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    if name not in (IMDB, SST2, PHRASES) or not Path(path).exists():
        raise argparse.ArgumentTypeError(
            f"{text} is not {IMDB}=<folder>, {SST2}=<folder> or {PHRASES}=<file>, with an existing path"
        )
    return name, str(Path(path).resolve())


if __name__ == "__main__":
    main()
