"""A hyperparameter search: Optuna chooses each job's values on the basis of earlier jobs' results."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from omegaconf import OmegaConf

from src.callbacks.pruning import open_study
from src.errors import UserError
from src.extras import require_extra
from src.formatting import format_count
from src.sweep.jobs import Job, Sweep
from src.sweep.outcome import read_outcome
from src.sweep.runner import SweepRunner
from src.sweep.space import boundary_overrides, parse_space

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
        self.monitor, self.mode = str(best.monitor), str(best.mode)
        self.shared, self.space = parse_space(self.overrides, self.runner.loader)
        self.runner.composer.shared = self.shared

    def run(self) -> None:
        """Run the search; the errors are those of `GridOrSearch.sweep`."""
        runner = self.runner
        jobs = Sweep.read(runner.folder).jobs if runner.is_resumed else []
        self._validate_boundaries()
        if runner.is_dry_run:
            self._print_plan(len(jobs))
            return
        with runner.record(jobs) as (sweep, signals):
            study = self._open_study(len(jobs))
            pending = runner.pending(jobs)
            while not signals and (pending or len(sweep.jobs) < self.trials):
                if not pending:
                    pending = runner.validate(self._sample(study, self.trials - len(sweep.jobs)))
                    sweep.jobs += pending
                    sweep.write()
                batch, pending = pending[: self.n_jobs], pending[self.n_jobs :]
                runner.launch(batch, self._pruning())
                for job in batch:
                    self._report_outcome(study, job)
            self._log_best(study)

    def _open_study(self, job_count: int) -> Any:
        seed = None if self.seed is None else self.seed + job_count  # a resumed search must not repeat its samples
        return open_study(self.runner.folder / JOURNAL, self.mode, self.n_startup_trials, self.warmup, seed)

    def _sample(self, study: Any, remaining: int) -> list[tuple[int, list[str]]]:
        """Return the number and the overrides of each of the next jobs."""
        trials = [study.ask(self.space) for _ in range(min(self.n_jobs, remaining))]
        return [
            (trial.number, [*self.shared, *(f"{key}={value}" for key, value in trial.params.items())])
            for trial in trials
        ]

    def _report_outcome(self, study: Any, job: Job) -> None:
        """Report a completed or pruned job to Optuna; the trial of any other job stays open until the job reruns."""
        from optuna.trial import TrialState

        outcome = read_outcome(self.runner.folder / job.folder)
        if outcome.status == "completed" and outcome.score is not None:
            study.tell(job.number, outcome.score, skip_if_finished=True)
        elif outcome.status == "pruned":
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
            "journal": str(self.runner.folder / JOURNAL),
            "monitor": self.monitor,
            "mode": self.mode,
            "n_startup_trials": self.n_startup_trials,
            "warmup": self.warmup,
        }

    def _validate_boundaries(self) -> None:
        """Validate jobs that together contain every choice and both ends of every range."""
        columns = [boundary_overrides(key, distribution) for key, distribution in self.space.items()]
        rows = range(max(map(len, columns)))
        jobs = [[*self.shared, *(column[i % len(column)] for column in columns)] for i in rows]
        self.runner.validate(list(enumerate(jobs)))

    def _print_plan(self, completed: int) -> None:
        from src.sweep.table import show

        dimensions = []
        for key, values in self.space.items():
            choices = ", ".join(getattr(values, "choices", ()))
            dimensions.append(f"  {key}: {choices or f'{values.low} to {values.high}'}")
        earlier = f" ({completed} more were planned earlier)" if completed else ""
        count = format_count(self.trials - completed, "job") + earlier
        lines = [f"{count} to optimize {self.monitor} ({self.mode}) by varying", *dimensions]
        show("\n".join(lines), f"Output folder: {self.runner.folder}/. Nothing was started.")
