"""A search: each job's values are chosen by how the jobs before it did."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from src.errors import UserError
from src.sweep import stop
from src.sweep.jobs import Job
from src.sweep.outcome import DONE, read_outcome
from src.sweep.space import space
from src.sweep.study import study_of

if TYPE_CHECKING:
    from src.sweep.sweeper import GridOrSearch

log = logging.getLogger(__name__)
JOURNAL = "optuna.journal"


class Search:
    """Runs jobs whose values Optuna's tree-structured Parzen estimator chooses.

    What is searched for is the metric that callbacks.best_checkpoint selects by. All that is known stands in the
    sweep's folder, so a search that was stopped goes on with `sweep.resume=…`.

    Args:
        sweeper: that launches the jobs.
        given: the command line's overrides.
        trials: jobs in all.
        at_once: jobs that are chosen together.
        startup: of the first ones, chosen at random.
        warmup: epochs of a job before it may be pruned; None prunes none.
        seed: of the choice.

    Raises:
        UserError: if Optuna is not installed, a number is too small, or there is nothing to search for.
    """

    def __init__(
        self,
        sweeper: "GridOrSearch",
        given: Sequence[str],
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
            raise UserError("a search needs callbacks.best_checkpoint: its monitor is what is searched for")
        self.sweeper, self.trials, self.at_once = sweeper, trials, at_once
        self.startup, self.warmup, self.seed = startup, warmup, seed
        self.monitor, self.mode = str(best.monitor), str(best.mode)
        self.shared, self.space = space(sweeper.params, given, sweeper.hydra_context.config_loader)

    def run(self) -> None:
        """Run it all; see `GridOrSearch.sweep`."""
        sweeper = self.sweeper
        resumed = sweeper.config.sweep.resume is not None
        jobs, _ = sweeper.planned([]) if resumed else ([], [])
        self._look_at_the_ends()
        if sweeper.config.sweep.dry_run:
            self._show_plan(len(jobs))
            return
        kept = sweeper.begun(jobs)
        study = self._study(len(jobs))
        with stop.on_signals(sweeper.folder) as came:
            waiting = [job for job in jobs if read_outcome(sweeper.folder / job.folder).status not in DONE]
            while not came and (waiting or len(kept.jobs) < self.trials):
                if not waiting:
                    asked = self._ask(study, min(self.at_once, self.trials - len(kept.jobs)))
                    waiting = sweeper.looked_over(asked)
                    kept.jobs += waiting
                    kept.write()
                sweeper.launch(waiting[: self.at_once], self._callbacks())
                for job in waiting[: self.at_once]:
                    self._tell(study, job)
                waiting = waiting[self.at_once :]
        told = [trial for trial in study.trials if trial.value is not None and trial.state.name == "COMPLETE"]
        if told:
            best = study.best_trial
            values = " ".join(f"{key}={value}" for key, value in best.params.items())
            log.info("Best so far: #%d with %s=%.4g: %s", best.number, self.monitor, best.value, values)
        sweeper.end(kept, came)

    def _study(self, known: int) -> Any:
        journal = self.sweeper.folder / JOURNAL
        return study_of(journal, self.mode, self.startup, self.warmup, self.seed + known)  # resumed: other numbers

    def _ask(self, study: Any, number: int) -> list[tuple[int, list[str]]]:
        """Numbers and overrides of the next jobs."""
        distributions = {one.key: one.distribution() for one in self.space}
        asked = [study.ask(distributions) for _ in range(number)]
        return [
            (trial.number, [*self.shared, *(f"{key}={value}" for key, value in trial.params.items())])
            for trial in asked
        ]

    def _tell(self, study: Any, job: Job) -> None:
        """Tell how a job ended; one that did not end stays open, and is run again when the search is resumed."""
        from optuna.trial import TrialState

        end = read_outcome(self.sweeper.folder / job.folder)
        if end.status == "completed" and end.score is not None:
            study.tell(job.number, end.score, skip_if_finished=True)
        elif end.status == "pruned":
            study.tell(job.number, state=TrialState.PRUNED, skip_if_finished=True)

    def _callbacks(self) -> dict[str, dict[str, object]]:
        if self.warmup is None:
            return {}
        options = {"journal": str(self.sweeper.folder / JOURNAL), "monitor": self.monitor, "mode": self.mode}
        limits = {"startup": self.startup, "warmup": self.warmup}
        return {"pruning": {"_target_": "src.callbacks.pruning.Pruning", **options, **limits}}

    def _look_at_the_ends(self) -> None:
        """Look over jobs with the ends of every range, and with every choice."""
        columns = [one.ends() for one in self.space]
        rows = range(max(map(len, columns)))
        lines = [[*self.shared, *(column[i % len(column)] for column in columns)] for i in rows]
        self.sweeper.looked_over(list(enumerate(lines)))

    def _show_plan(self, done: int) -> None:
        from src.sweep.table import show

        chosen = [f"  {one.key}: " + (", ".join(one.choices) or f"{one.low} to {one.high}") for one in self.space]
        kind = "more" if done else "in all"
        lines = [f"{self.trials - done} jobs {kind}, to find the best {self.monitor} ({self.mode}) over", *chosen]
        show("\n".join(lines), f"They would write to {self.sweeper.folder}/. Nothing was started.")
