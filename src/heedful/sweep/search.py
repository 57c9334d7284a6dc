"""A hyperparameter search: Optuna chooses each job's values on the basis of earlier jobs' results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import IntervalSweep, RangeSweep
from omegaconf import OmegaConf
from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from heedful.base.errors import UserError
from heedful.base.files import validate
from heedful.base.optional_packages import require_extra
from heedful.config.overrides import Override
from heedful.runs.sweep_record import Job
from heedful.sweep.job import recorded_result
from heedful.sweep.plan import create_job, parse_overrides
from heedful.sweep.sweeper import SweepRunner
from heedful.training.callbacks.pruning import open_study

JOURNAL = "optuna.journal"


class SearchOptions(BaseModel):
    """The options of a search, `hydra.sweeper.search`; conf/hparams_search/optuna.yaml describes them."""

    model_config = ConfigDict(extra="forbid")

    trials: PositiveInt
    n_jobs: PositiveInt
    n_startup_trials: NonNegativeInt
    warmup: NonNegativeInt | None
    seed: NonNegativeInt | None


def run_search(runner: SweepRunner, overrides: Sequence[str], options: Mapping[str, Any]) -> None:
    """Run jobs with option values that are sampled by Optuna's tree-structured Parzen estimator, or print the plan.

    The search optimizes the metric that callbacks.best_checkpoint monitors. Its state is stored in the sweep's folder,
    so `sweep.resume=…` resumes an interrupted search. The errors of a sweep are those of `Sweeper.sweep`.

    Args:
        overrides: the choices and ranges to search, and the values that all jobs share.
    """
    require_extra("optuna", by="hparams_search=optuna", extra="optuna")
    try:
        search = validate(dict(options), SearchOptions)
    except ValueError as error:
        raise UserError(f"hydra.sweeper.search.{error}") from None
    best = OmegaConf.select(runner.config, "callbacks.best_checkpoint")
    if best is None:
        raise UserError("a search needs callbacks.best_checkpoint: it optimizes the metric that this callback monitors")
    shared, space = parse_space(parse_overrides(runner.files, runner.config, overrides))
    boundaries = boundary_jobs(shared, space)
    runner.validate(boundaries)
    if runner.config.sweep.dry_run:
        title = f"{search.trials} jobs to optimize {best.monitor} ({best.mode}), with values between or among these"
        runner.show_plan(boundaries, title)
        return
    journal, jobs, pending = runner.folder / JOURNAL, runner.sweep.jobs, runner.pending()
    sampler = {"mode": best.mode, "n_startup_trials": search.n_startup_trials, "warmup": search.warmup}
    pruning = {
        "_target_": "heedful.training.callbacks.pruning.Pruning",
        "journal": str(journal),
        "monitor": best.monitor,
        **sampler,
    }
    runner.objective = best
    with runner.recorded():
        drop_torn_line(journal)
        seed = None if search.seed is None else search.seed + len(jobs)  # a resumed search must not repeat its samples
        study = open_study(journal, seed=seed, **sampler)
        _report_outcomes(study, runner.folder, jobs)
        while not runner.signals and (pending or len(jobs) < search.trials):
            if not pending:
                for trial in [study.ask(space) for _ in range(min(search.n_jobs, search.trials - len(jobs)))]:
                    sampled = [f"{key}={value}" for key, value in trial.params.items()]
                    pending.append(create_job(trial.number, [*shared, *sampled], shared))
                jobs += pending
                runner.sweep.write(runner.folder)
            batch, pending = pending[: search.n_jobs], pending[search.n_jobs :]
            runner.launch(batch, None if search.warmup is None else pruning)
            _report_outcomes(study, runner.folder, batch)


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
    space = {override.parsed.get_key_element(): _distribution(override) for override in parsed if override.is_sweep}
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

    sweep: Any = override.parsed.value()
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
    try:
        if isinstance(low, int) and isinstance(high, int):
            return IntDistribution(low, high, log=log, step=int(step or 1))
        return FloatDistribution(low, high, log=log, step=step)
    except ValueError as error:
        raise UserError(f"{override.line}: {error}") from None
