"""Run the sweeps of the study that are not yet released, and release each sweep when it is completed.

python -m studies.run --path imdb=<folder> --path rotten_tomatoes=<train.tsv>

All sweeps are run with the first seed, then with the second, and so on. Interrupted sweeps are resumed. Without
`--path imdb=…`, IMDb is downloaded. Sweeps on the Rotten Tomatoes phrases need `--path rotten_tomatoes=…`.
"""

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from src.config.quoting import quote
from src.errors import UserError
from src.formatting import format_count, format_duration
from src.process import exit_with_message
from src.run_result import RunResult
from studies.plan import RESULTS, ROOT, Plan, PlannedSweep, load_plan, release_file
from studies.release import write_release

OUTPUTS = Path("outputs/study")
QUICK = ("data.limit=60", "trainer.max_epochs=1")  # overrides of --quick
QUICK_SECONDS = 17.0  # duration of a run with QUICK on two cores, including its share of the sweep's start-up time
IMDB, PHRASES = "imdb", "rotten_tomatoes"


class Task(NamedTuple):
    """A sweep with one seed."""

    name: str
    sweep: PlannedSweep
    seed: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the missing sweeps with their estimated time, run them, and release their records."""
    with exit_with_message("standard output"):
        plan, options = load_plan(), _parser().parse_args(arguments)
        paths = dict(_parse_path(text) for text in options.path)
        outputs, results = OUTPUTS, RESULTS
        if options.quick:
            outputs = Path("outputs/study_quick")
            results = outputs / "released"
        tasks = list(missing_tasks(plan, results, _names(plan, options.only), options.seeds, options.quick))
        if PHRASES not in paths:
            skipped = dict.fromkeys(task.name for task in tasks if task.sweep.data == PHRASES)
            tasks = [task for task in tasks if task.name not in skipped]
            print(*(f"{name} is omitted: it requires --path {PHRASES}=<train.tsv>" for name in skipped), sep="\n")
        print(describe(tasks, plan, options.jobs, is_quick=options.quick), flush=True)
        if options.dry_run:
            return
        for number, task in enumerate(tasks, 1):
            print(f"Sweep {number} of {len(tasks)}: {task.name}, seed {task.seed}", flush=True)
            _run(task, outputs, paths, options.jobs, QUICK if options.quick else ())
            file = release_file(task.name, task.seed, results)
            count = write_release(outputs / task.name / f"seed_{task.seed}", file)
            print(f"Released {count} runs: {file} ({file.stat().st_size / 1e6:.2f} MB)", flush=True)


def missing_tasks(
    plan: Plan, results: Path, names: Sequence[str], seeds: Sequence[int] | None = None, is_quick: bool = False
) -> Iterator[Task]:
    """Yield the sweeps that are not released, ordered by seed, then as in `names`.

    Args:
        results: folder of the released files.
        names: sweeps to run.
        seeds: seeds to run; None for all seeds of the plan.
        is_quick: whether to run only the first seed of each sweep.
    """
    planned = {name: plan.sweeps[name].seeds[:1] if is_quick else plan.sweeps[name].seeds for name in names}
    for seed in sorted({seed for values in planned.values() for seed in values}):
        for name in names:
            wanted = seed in planned[name] and (seeds is None or seed in seeds)
            if wanted and not release_file(name, seed, results).exists():
                yield Task(name, plan.sweeps[name], seed)


def describe(tasks: Sequence[Task], plan: Plan, jobs: int, results: Path = RESULTS, is_quick: bool = False) -> str:
    """List the sweeps as text, with durations estimated from released runs of the same sweep.

    If `is_quick` is true, the estimate is QUICK_SECONDS per run.
    """
    if not tasks:
        return "All sweeps are released; to run a sweep again, delete its file below docs/results"
    lines, total, unknown = [], 0.0, 0
    for task in tasks:
        runs = _count_runs(task.sweep)
        seconds = QUICK_SECONDS * runs if is_quick else released_seconds(plan, task.name, results)
        unknown += seconds is None
        duration = (seconds or 0.0) / min(jobs, runs)
        total += duration
        estimate = "no earlier run" if seconds is None else format_duration(duration)
        lines.append(f"  {task.name}, seed {task.seed}: {estimate}")
    known = f"about {format_duration(total)}" if unknown < len(tasks) else "an unknown time"
    more = f", plus an unknown time for {unknown} of them" if 0 < unknown < len(tasks) else ""
    count = format_count(len(tasks), "sweep")
    head = f"{count} will take {known}{more}, if this machine is as fast as that of the released runs:"
    return "\n".join([head, *lines])


def released_seconds(plan: Plan, name: str, results: Path = RESULTS) -> float | None:
    """Return the total seconds of a sweep's runs for one seed, averaged over released seeds; None without any."""
    totals = []
    for file in (release_file(name, seed, results) for seed in plan.sweeps[name].seeds):
        if file.exists():
            records = pq.read_table(file, columns=["result"])["result"].to_pylist()
            totals.append(sum(json.loads(text)["seconds"]["total"] for text in records))
    return sum(totals) / len(totals) if totals else None


def _count_runs(sweep: PlannedSweep) -> int:
    """Return the number of runs for one seed: the product of the numbers of values of all overrides."""
    return math.prod(len(override.partition("=")[2].split(",")) for override in sweep.overrides)


def _run(task: Task, outputs: Path, paths: dict[str, str], jobs: int, more: Sequence[str]) -> None:
    """Start or resume the sweep in a separate process.

    Raises:
        UserError: if a run is not completed.
    """
    folder = outputs / task.name / f"seed_{task.seed}"
    is_parallel = jobs > 1 and _count_runs(task.sweep) > 1  # otherwise, the run uses all threads
    launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={jobs}"] if is_parallel else []
    line = ["-m", *task.sweep.overrides, f"seed={task.seed}", "logger=csv", f"hydra.sweep.dir={quote(str(folder))}"]
    if task.sweep.data in paths:
        line.append(f"data.path={quote(paths[task.sweep.data])}")
    if (folder / "sweep.json").exists():
        line = [f"sweep.resume={quote(str(folder))}"]
    command = [sys.executable, "-m", "src.train", *line, *launcher, *(more if "-m" in line else ())]
    code = subprocess.run(command, cwd=ROOT).returncode
    failed = [run.name for run in sorted(folder.glob("*/")) if RunResult.load(run).status != "completed"]
    if code or failed:
        raise UserError(f"{task.name}, seed {task.seed} is not completed: run the same command again to resume it")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m studies.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--path", action="append", default=[], metavar="NAME=PATH", help="local data, as described above"
    )
    parser.add_argument("--only", action="append", metavar="SWEEP", help="a sweep to run; default: all")
    parser.add_argument("--seeds", type=_parse_seeds, metavar="1,2", help="seeds to run; default: all")
    parser.add_argument(
        "--jobs", type=int, default=2, help="number of concurrent runs, which share the threads; default: 2"
    )
    parser.add_argument(
        "--quick", action="store_true", help="run with 60 texts, one epoch and one seed, in outputs/study_quick"
    )
    parser.add_argument("--dry-run", action="store_true", help="only print the sweeps and the estimated time")
    return parser


def _parse_seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError("expects whole numbers, such as 1,2") from None


def _parse_path(text: str) -> tuple[str, str]:
    name, sign, path = text.partition("=")
    if not sign or name not in (IMDB, PHRASES):
        raise UserError(f"--path {text}: expects {IMDB}=<folder> or {PHRASES}=<file>")
    if not Path(path).exists():
        raise UserError(f"--path {name}: no such file or folder {path!r}")
    return name, str(Path(path).resolve())


def _names(plan: Plan, selection: Sequence[str] | None) -> list[str]:
    if unknown := [name for name in selection or () if name not in plan.sweeps]:
        raise UserError(f"--only {unknown[0]}: no such sweep ({', '.join(plan.sweeps)})")
    return [name for name in plan.sweeps if selection is None or name in selection]


if __name__ == "__main__":
    main()
