"""A hyperparameter search: Optuna chooses each job's values on the basis of earlier jobs' results."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, RangeSweep
from omegaconf import OmegaConf

from src.callbacks.pruning import open_study
from src.config.compose import Override
from src.errors import UserError
from src.extras import require_extra
from src.sweep.job import recorded_result
from src.sweep.plan import create_job, parse_overrides, validate_jobs
from src.sweep.sweeper import SweepRunner
from src.sweep_record import Job

log = logging.getLogger(__name__)
JOURNAL = "optuna.journal"


@dataclass
class Search:
    """Runs jobs with option values that are sampled by Optuna's tree-structured Parzen estimator.

    The search optimizes the metric that callbacks.best_checkpoint monitors. Its state is stored in the sweep's folder,
    so `sweep.resume=…` resumes an interrupted search.

    Args:
        overrides: the choices and ranges to search, and the values that all jobs share.
        trials: total number of jobs (≥ 1).
        n_jobs: number of jobs that are sampled together (≥ 1).
        n_startup_trials: number of jobs at the start of the search that are sampled at random and never pruned.
        warmup: epochs before a job may be pruned; None disables pruning.
        seed: seed of the sampler; None samples differently in every search.
    """

    runner: SweepRunner
    overrides: Sequence[str]
    trials: int
    n_jobs: int
    n_startup_trials: int
    warmup: int | None
    seed: int | None

    def run(self) -> None:
        """Run the search, or print its plan; the errors of a sweep are those of `Sweeper.sweep`."""
        require_extra("optuna", by="hparams_search=optuna", extra="optuna")
        if min(self.trials, self.n_jobs) < 1:
            raise UserError("hydra.sweeper.search: trials and n_jobs must be at least 1")
        runner = self.runner
        best = OmegaConf.select(runner.config, "callbacks.best_checkpoint")
        if best is None:
            raise UserError(
                "a search needs callbacks.best_checkpoint: it optimizes the metric that this callback monitors"
            )
        shared, space = parse_space(parse_overrides(runner.files, runner.config, self.overrides))
        boundaries = boundary_jobs(shared, space)
        validate_jobs(runner.files, runner.config, boundaries)
        if runner.config.sweep.dry_run:
            title = f"{self.trials} jobs to optimize {best.monitor} ({best.mode}), with values between or among these"
            runner.show_plan(boundaries, title)
            return
        journal, jobs, pending = runner.folder / JOURNAL, runner.sweep.jobs, runner.pending()
        options = {"mode": best.mode, "n_startup_trials": self.n_startup_trials, "warmup": self.warmup}
        pruning = {"_target_": "src.callbacks.pruning.Pruning", "journal": str(journal), "monitor": best.monitor}
        with runner.recorded():
            drop_torn_line(journal)
            seed = None if self.seed is None else self.seed + len(jobs)  # a resumed search must not repeat its samples
            study = open_study(journal, seed=seed, **options)
            _report_outcomes(study, runner.folder, jobs)
            while not runner.signals and (pending or len(jobs) < self.trials):
                if not pending:
                    for trial in [study.ask(space) for _ in range(min(self.n_jobs, self.trials - len(jobs)))]:
                        sampled = [f"{key}={value}" for key, value in trial.params.items()]
                        pending.append(create_job(trial.number, [*shared, *sampled], shared))
                    jobs += pending
                    runner.sweep.write(runner.folder)
                batch, pending = pending[: self.n_jobs], pending[self.n_jobs :]
                runner.launch(batch, None if self.warmup is None else pruning | options)
                _report_outcomes(study, runner.folder, batch)
            if any(trial.value is not None and trial.state.name == "COMPLETE" for trial in study.trials):
                values = " ".join(f"{key}={value}" for key, value in study.best_params.items())
                log.info("Best: %s=%.4g with %s", best.monitor, study.best_value, values)


def _report_outcomes(study: Any, folder: Path, jobs: Sequence[Job]) -> None:
    """Report completed and pruned jobs to Optuna; the trial of any other job stays open until the job reruns."""
    from optuna.trial import TrialState

    for job in jobs:
        result = recorded_result(folder / job.folder)
        if result.status == "completed" and result.best.value is not None:
            study.tell(job.number, result.best.value, skip_if_finished=True)
        elif result.status == "pruned":
            study.tell(job.number, state=TrialState.PRUNED, skip_if_finished=True)


def drop_torn_line(journal: Path) -> None:
    """Remove the end of a journal whose writer was killed in the middle of a line, which Optuna could not read."""
    if journal.exists():
        with journal.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def parse_space(parsed: Sequence[Override]) -> tuple[list[str], dict[str, Any]]:
    """Return the overrides that all jobs share, and the Optuna distribution of each option that varies."""
    space = {override.key + override.package: _distribution(override) for override in parsed if override.is_sweep}
    if not space:
        raise UserError(
            "there is nothing to search: add choices, such as model/attention=none,bahdanau, or a range, such as "
            "'optimizer.lr=tag(log, interval(1e-4, 1e-1))'"
        )
    return [override.line for override in parsed if not override.is_sweep], space


def boundary_jobs(shared: Sequence[str], space: dict[str, Any]) -> list[Job]:
    """Return jobs that together contain every choice and both ends of every range."""
    columns = [
        [f"{key}={value}" for value in getattr(values, "choices", None) or (values.low, values.high)]
        for key, values in space.items()
    ]
    rows = range(max(map(len, columns)))
    return [create_job(i, [*shared, *(column[i % len(column)] for column in columns)], shared) for i in rows]


def _distribution(override: Override) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    sweep = OverridesParser.create().parse_override(override.line).value()
    if isinstance(sweep, IntervalSweep):
        low, high, step = sweep.start, sweep.end, None
    elif isinstance(sweep, RangeSweep):
        numbers = list(sweep.range())
        low, high, step = numbers[0], numbers[-1], sweep.step
    else:
        return CategoricalDistribution(tuple(override.texts))
    assert low is not None and high is not None
    log = "log" in sweep.tags
    if low > high or (log and low <= 0):
        raise UserError(f"{override.line} must increase, and must be above 0 if it is tagged log")
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=log, step=int(step or 1))
    return FloatDistribution(low, high, log=log, step=step)
