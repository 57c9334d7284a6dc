"""A search: Optuna chooses each job's values from the results of earlier jobs."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from src.errors import UserError
from src.sweep import stop
from src.sweep.jobs import Job, count_jobs
from src.sweep.outcome import DONE, read_outcome
from src.sweep.space import parse_space
from src.sweep.study import open_study

if TYPE_CHECKING:
    from src.sweep.sweeper import GridOrSearch

log = logging.getLogger(__name__)
JOURNAL = "optuna.journal"


class Search:
    """Runs jobs whose values Optuna's tree-structured Parzen estimator chooses.

    The search optimizes the metric that callbacks.best_checkpoint monitors. Its state is in the sweep's folder, so
    `sweep.resume=…` resumes an interrupted search.

    Args:
        sweeper: launches the jobs.
        overrides: overrides on the command line.
        trials: total number of jobs.
        at_once: number of jobs that are sampled together.
        startup: number of first jobs that are sampled at random.
        warmup: epochs before a job may be pruned; None disables pruning.
        seed: seed of the sampler.

    Raises:
        UserError: if Optuna is not installed, a number is too small, or no metric or range is given.
    """

    def __init__(
        self,
        sweeper: "GridOrSearch",
        overrides: Sequence[str],
        trials: int,
        at_once: int,
        startup: int,
        warmup: int | None,
        seed: int,
    ) -> None:
        from src.extras import require

        require("optuna", by="hparams_search=optuna", extra="optuna")
        for name, value in (("trials", trials), ("at_once", at_once)):
            if value < 1:
                raise UserError(f"hydra.sweeper.search.{name}={value} must be at least 1")
        best = OmegaConf.select(sweeper.config, "callbacks.best_checkpoint")
        if best is None:
            raise UserError(
                "a search needs callbacks.best_checkpoint: it optimizes the metric that this callback monitors"
            )
        self.sweeper, self.trials, self.at_once = sweeper, trials, at_once
        self.startup, self.warmup, self.seed = startup, warmup, seed
        self.monitor, self.mode = str(best.monitor), str(best.mode)
        self.shared, self.space = parse_space(sweeper.params, overrides, sweeper.hydra_context.config_loader)

    def run(self) -> None:
        """Run the search; see `GridOrSearch.sweep`."""
        sweeper = self.sweeper
        is_resumed = sweeper.config.sweep.resume is not None
        jobs, _ = sweeper.plan([]) if is_resumed else ([], [])
        self._validate_boundaries()
        if sweeper.config.sweep.dry_run:
            self._print_plan(len(jobs))
            return
        sweep = sweeper.begin(jobs)
        study = self._open_study(len(jobs))
        with stop.on_signals(sweeper.folder) as received:
            pending = [job for job in jobs if read_outcome(sweeper.folder / job.folder).status not in DONE]
            while not received and (pending or len(sweep.jobs) < self.trials):
                if not pending:
                    requests = self._sample_jobs(study, min(self.at_once, self.trials - len(sweep.jobs)))
                    pending = sweeper.validate(requests)
                    sweep.jobs += pending
                    sweep.write()
                sweeper.launch(pending[: self.at_once], self._callbacks())
                for job in pending[: self.at_once]:
                    self._report_outcome(study, job)
                pending = pending[self.at_once :]
        if any(trial.value is not None and trial.state.name == "COMPLETE" for trial in study.trials):
            best = study.best_trial
            values = " ".join(f"{key}={value}" for key, value in best.params.items())
            log.info("Best job: #%d with %s=%.4g: %s", best.number, self.monitor, best.value, values)
        sweeper.finish(sweep, received)

    def _open_study(self, job_count: int) -> Any:
        journal = self.sweeper.folder / JOURNAL
        seed = self.seed + job_count  # a resumed search must not repeat its samples
        return open_study(journal, self.mode, self.startup, self.warmup, seed)

    def _sample_jobs(self, study: Any, count: int) -> list[tuple[int, list[str]]]:
        """Return the numbers and overrides of the next jobs."""
        distributions = {dimension.key: dimension.distribution() for dimension in self.space}
        trials = [study.ask(distributions) for _ in range(count)]
        return [
            (trial.number, [*self.shared, *(f"{key}={value}" for key, value in trial.params.items())])
            for trial in trials
        ]

    def _report_outcome(self, study: Any, job: Job) -> None:
        """Report a job's outcome to Optuna. The trial of an unfinished job stays open until the search is resumed."""
        from optuna.trial import TrialState

        outcome = read_outcome(self.sweeper.folder / job.folder)
        if outcome.status == "completed" and outcome.score is not None:
            study.tell(job.number, outcome.score, skip_if_finished=True)
        elif outcome.status == "pruned":
            study.tell(job.number, state=TrialState.PRUNED, skip_if_finished=True)

    def _callbacks(self) -> dict[str, dict[str, object]]:
        if self.warmup is None:
            return {}
        options = {"journal": str(self.sweeper.folder / JOURNAL), "monitor": self.monitor, "mode": self.mode}
        limits = {"startup": self.startup, "warmup": self.warmup}
        return {"pruning": {"_target_": "src.callbacks.pruning.Pruning", **options, **limits}}

    def _validate_boundaries(self) -> None:
        """Validate jobs that together use both ends of every range and every choice."""
        columns = [dimension.boundary_overrides() for dimension in self.space]
        rows = range(max(map(len, columns)))
        jobs = [[*self.shared, *(column[i % len(column)] for column in columns)] for i in rows]
        self.sweeper.validate(list(enumerate(jobs)))

    def _print_plan(self, completed: int) -> None:
        from src.sweep.table import show

        dimensions = [
            f"  {dimension.key}: " + (", ".join(dimension.choices) or f"{dimension.low} to {dimension.high}")
            for dimension in self.space
        ]
        count = count_jobs(self.trials - completed) + (f" ({completed} more planned before)" if completed else "")
        lines = [f"{count} to optimize {self.monitor} ({self.mode}) over", *dimensions]
        show("\n".join(lines), f"Output folder: {self.sweeper.folder}/. Nothing was started.")
