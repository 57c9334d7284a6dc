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
from src.formatting import format_count
from src.sweep.jobs import current_result
from src.sweep.preflight import parse_overrides
from src.sweep.run import uses_one_device
from src.sweep.sweeper import SweepRunner
from src.sweep.table import show
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

    Raises:
        UserError: if Optuna is not installed, `trials` or `n_jobs` is below 1, callbacks.best_checkpoint is absent, or
            the overrides contain no choices or ranges, or an invalid range.
    """

    runner: SweepRunner
    overrides: Sequence[str]
    trials: int
    n_jobs: int
    n_startup_trials: int
    warmup: int | None
    seed: int | None

    def __post_init__(self) -> None:
        require_extra("optuna", by="hparams_search=optuna", extra="optuna")
        for name in ("trials", "n_jobs"):
            if getattr(self, name) < 1:
                raise UserError(f"hydra.sweeper.search.{name}={getattr(self, name)} must be at least 1")
        best = OmegaConf.select(self.runner.config, "callbacks.best_checkpoint")
        if best is None:
            raise UserError(
                "a search needs callbacks.best_checkpoint: it optimizes the metric that this callback monitors"
            )
        if self.warmup is not None and not uses_one_device(self.runner.config.trainer):
            raise UserError("a search with pruning needs one device per job: add hydra.sweeper.search.warmup=null")
        self.monitor, self.mode = str(best.monitor), str(best.mode)
        self.shared, self.space = parse_space(parse_overrides(self.runner.files, self.runner.config, self.overrides))
        self.runner.shared = self.shared
        self.journal = self.runner.folder / JOURNAL

    def run(self) -> None:
        """Run the search; the errors are those of `Sweeper.sweep`."""
        runner, sweep = self.runner, self.runner.sweep
        self._plan_boundaries()
        if runner.is_dry_run:
            self._show_plan(len(sweep.jobs))
            return
        pending = runner.pending()
        with runner.recorded():
            drop_torn_line(self.journal)
            # A resumed search must not repeat its samples
            seed = None if self.seed is None else self.seed + len(sweep.jobs)
            study = open_study(self.journal, self.mode, self.n_startup_trials, self.warmup, seed)
            self._report_outcomes(study, sweep.jobs)
            while not runner.signals and (pending or len(sweep.jobs) < self.trials):
                if not pending:
                    pending = self._sample(study, min(self.n_jobs, self.trials - len(sweep.jobs)))
                    sweep.jobs += pending
                    sweep.write(runner.folder)
                batch, pending = pending[: self.n_jobs], pending[self.n_jobs :]
                runner.launch(batch, self._pruning())
                self._report_outcomes(study, batch)
            self._log_best(study)

    def _sample(self, study: Any, count: int) -> list[Job]:
        trials = [study.ask(self.space) for _ in range(count)]
        return self.runner.plan(
            [
                (trial.number, [*self.shared, *(f"{key}={value}" for key, value in trial.params.items())])
                for trial in trials
            ]
        )

    def _report_outcomes(self, study: Any, jobs: Sequence[Job]) -> None:
        """Report completed and pruned jobs to Optuna; the trial of any other job stays open until the job reruns."""
        from optuna.trial import TrialState

        for job in jobs:
            result = current_result(self.runner.folder / job.folder)
            if result.status == "completed" and result.best.value is not None:
                study.tell(job.number, result.best.value, skip_if_finished=True)
            elif result.status == "pruned":
                study.tell(job.number, state=TrialState.PRUNED, skip_if_finished=True)

    def _log_best(self, study: Any) -> None:
        if any(trial.value is not None and trial.state.name == "COMPLETE" for trial in study.trials):
            best = study.best_trial
            values = " ".join(f"{key}={value}" for key, value in best.params.items())
            log.info("Best job: #%d with %s=%.4g: %s", best.number, self.monitor, best.value, values)

    def _pruning(self) -> dict[str, object] | None:
        """Return the options of the pruning callback, except the number of the trial; None if pruning is disabled."""
        if self.warmup is None:
            return None
        return {
            "_target_": "src.callbacks.pruning.Pruning",
            "journal": str(self.journal),
            "monitor": self.monitor,
            "mode": self.mode,
            "n_startup_trials": self.n_startup_trials,
            "warmup": self.warmup,
        }

    def _plan_boundaries(self) -> None:
        """Validate jobs that together contain every choice and both ends of every range."""
        columns = [boundary_overrides(key, distribution) for key, distribution in self.space.items()]
        rows = range(max(map(len, columns)))
        self.runner.plan([(i, [*self.shared, *(column[i % len(column)] for column in columns)]) for i in rows])

    def _show_plan(self, planned: int) -> None:
        earlier = f" ({planned} more were planned earlier)" if planned else ""
        lines = [
            f"{format_count(self.trials - planned, 'job')}{earlier} to optimize {self.monitor} ({self.mode}) by varying"
        ]
        for key, values in self.space.items():
            choices = ", ".join(getattr(values, "choices", ()))
            lines.append(f"  {key}: {choices or f'{values.low} to {values.high}'}")
        show("\n".join(lines), self.runner.nothing_started)


def drop_torn_line(journal: Path) -> None:
    """Remove the end of a journal whose writer was killed in the middle of a line, which Optuna could not read."""
    if journal.exists():
        with journal.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def parse_space(parsed: Sequence[Override]) -> tuple[list[str], dict[str, Any]]:
    """Return the overrides that all jobs share, and the Optuna distribution of each option that varies.

    Raises:
        UserError: if no override contains choices or a range, or if a range decreases, or has a log scale but does not
            start above 0.
    """
    space = {override.key + override.package: _distribution(override) for override in parsed if override.is_sweep}
    if not space:
        raise UserError(
            "there is nothing to search: add choices, such as model/attention=none,bahdanau, or a range, such as "
            "'optimizer.lr=tag(log, interval(1e-4, 1e-1))'"
        )
    return [override.line for override in parsed if not override.is_sweep], space


def boundary_overrides(key: str, distribution: Any) -> list[str]:
    """Return the overrides that set an option to both ends of its range, or to each of its choices."""
    values = getattr(distribution, "choices", None) or [getattr(distribution, end) for end in ("low", "high")]
    return [f"{key}={value}" for value in values]


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
