"""A hyperparameter search: Optuna chooses each job's values on the basis of earlier jobs' results."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from hydra.core.override_parser.types import IntervalSweep, RangeSweep
from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from heedful.base.errors import UserError
from heedful.base.files import validate
from heedful.base.optional_packages import require_extra
from heedful.config.overrides import Override
from heedful.runs.sweep_record import Job
from heedful.sweep.job import recorded_result
from heedful.sweep.plan import create_job, parse_overrides
from heedful.sweep.sweeper import SweepRunner

log = logging.getLogger(__name__)


class SearchOptions(BaseModel):
    """The options of a search, `hydra.sweeper.search`; conf/hparams_search/optuna.yaml describes them."""

    model_config = ConfigDict(extra="forbid")

    trials: PositiveInt
    n_jobs: PositiveInt
    n_startup_trials: NonNegativeInt
    seed: NonNegativeInt
    storage: str | None = None


def run_search(runner: SweepRunner, overrides: Sequence[str], options: DictConfig) -> None:
    """Run jobs with option values that Optuna chooses, or print the plan.

    The search optimizes the metric that callbacks.best_checkpoint monitors. The records of the sweep and of its jobs
    are its whole state, so `sweep.resume=…` resumes it; a storage gets a copy of the completed jobs. The errors are
    those of `Sweeper.sweep`.
    """
    require_extra("optuna", by="hparams_search=optuna", extra="optuna")
    try:
        search = validate(OmegaConf.to_container(options, resolve=True), SearchOptions)
    except ValueError as error:
        objective = "; a search has one objective: callbacks.best_checkpoint.monitor and .mode"
        raise UserError(f"hparams_search.{error}{objective * str(error).startswith('direction')}") from None
    best = OmegaConf.select(runner.config, "callbacks.best_checkpoint")
    if best is None or best.monitor is None:
        raise UserError("a search needs callbacks.best_checkpoint.monitor, the metric that it optimizes")
    shared, space = parse_space(parse_overrides(runner.files, runner.config, overrides))
    boundaries = boundary_jobs(shared, space)
    runner.validate(boundaries)
    if runner.config.sweep.dry_run:
        title = f"{search.trials} jobs to optimize {best.monitor}, with values between or among these"
        runner.show_plan(boundaries, title)
        return
    jobs, pending = runner.sweep.jobs, runner.pending()

    def outcomes() -> tuple[Any, dict[tuple[str, ...], float]]:
        results = [(job, recorded_result(runner.folder / job.folder).best) for job in jobs]
        values = {tuple(job.overrides): result.value for job, result in results if result.value is not None}
        mode = next((result.mode for _, result in results if result.mode), best.mode)  # which the metric knows
        direction = "maximize" if mode == "max" else "minimize"
        try:
            if search.storage is not None:
                copy_trials(search.storage, str(runner.folder), direction, space, values)
        except Exception as error:  # of the database or its driver
            message = f"hparams_search.storage={search.storage}: {str(error).partition(chr(10))[0]}"
            if runner.objective is None:
                raise UserError(message) from None
            log.warning(message)
        return direction, values

    outcomes()  # a storage that cannot be opened is reported now
    runner.objective = best
    with runner.recorded():
        while not runner.signals and (pending or len(jobs) < search.trials):
            if not pending:
                direction, values = outcomes()
                for sampled in sample(search, direction, space, values, len(jobs)):
                    pending.append(create_job(len(jobs) + len(pending), [*shared, *sampled], shared))
                jobs += pending
                runner.sweep.write(runner.folder)
            batch, pending = pending[: search.n_jobs], pending[search.n_jobs :]
            runner.launch(batch)
        outcomes()


def sample(
    search: SearchOptions, direction: Any, space: Mapping[str, Any], values: Mapping[tuple[str, ...], float], jobs: int
) -> list[list[str]]:
    """Return the overrides of the next jobs, which the tree-structured Parzen estimator chooses.

    Args:
        values: the monitored metric of each completed job, by its overrides.
        jobs: number of all earlier jobs.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(
        n_startup_trials=search.n_startup_trials, constant_liar=True, seed=search.seed + jobs
    )
    study = optuna.create_study(sampler=sampler, direction=direction)
    for overrides, value in values.items():
        study.add_trial(_trial(space, overrides, value))
    trials = [study.ask(dict(space)) for _ in range(min(search.n_jobs, search.trials - jobs))]
    return [[f"{key}={value}" for key, value in trial.params.items()] for trial in trials]


def copy_trials(storage: str, name: str, direction: Any, space: Mapping[str, Any], values: Any) -> None:
    """Add the jobs that the study of this name in a storage lacks; the parameters are those of `sample`."""
    import optuna

    database = optuna.storages.get_storage(storage)
    if not values:  # nothing tells the direction
        return
    study = optuna.create_study(storage=database, study_name=name, direction=direction, load_if_exists=True)
    known = [trial.user_attrs.get("job") for trial in study.trials]
    for overrides, value in values.items():
        if (line := " ".join(overrides)) not in known:
            study.add_trial(_trial(space, overrides, value, job=line))


def _trial(space: Mapping[str, Any], overrides: Sequence[str], value: float, **attributes: str) -> Any:
    """Return the completed trial of a job, with these attributes."""
    from optuna.trial import create_trial

    texts = dict(line.partition("=")[::2] for line in overrides)  # `~key` has no value
    params = {key: at.to_external_repr(at.to_internal_repr(texts[key])) for key, at in space.items()}
    return create_trial(params=params, distributions=dict(space), value=value, user_attrs=attributes)


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
