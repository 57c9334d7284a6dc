"""A hyperparameter search: Optuna chooses each job's values on the basis of earlier jobs' results."""

import os
from collections.abc import Mapping, Sequence, Set
from inspect import isabstract
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import IntervalSweep, RangeSweep
from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from heedful.base.errors import UserError
from heedful.base.files import validate
from heedful.base.formatting import format_names
from heedful.base.optional_packages import require_extra
from heedful.config.mistakes import format_mistakes
from heedful.config.overrides import Override, quote
from heedful.config.places import find_class
from heedful.config.schema import of_class, option_mistakes, trusted_modules
from heedful.runs.sweep_record import Job
from heedful.sweep.job import recorded_result
from heedful.sweep.plan import create_job, name_folders, parse_overrides
from heedful.sweep.sweeper import SweepRunner
from heedful.training.callbacks.pruning import direction_of, open_study

JOURNAL = "optuna.journal"
JOURNAL_STUDY = "heed"  # as in the journals of earlier versions


class SearchOptions(BaseModel):
    """The options of a search, `hydra.sweeper.search`; conf/hparams_search/optuna.yaml describes them."""

    model_config = ConfigDict(extra="forbid")

    trials: PositiveInt
    n_jobs: PositiveInt
    n_startup_trials: NonNegativeInt
    warmup: NonNegativeInt | None
    seed: NonNegativeInt | None
    sampler: dict[str, Any] | str
    storage: str | None
    study_name: str | None


def run_search(runner: SweepRunner, overrides: Sequence[str], options: DictConfig) -> None:
    """Run jobs with option values that a sampler of Optuna chooses, or print the plan.

    The search optimizes the metric that callbacks.best_checkpoint monitors. Its state is stored in the sweep's folder
    or in a database, so `sweep.resume=…` resumes an interrupted search. The errors are those of `Sweeper.sweep`.

    Args:
        overrides: the choices and ranges to search, and the values that all jobs share.
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
    samplers = trusted_modules(runner.config) | {"optuna"}
    create_sampler(search, samplers)  # reports wrong options
    name = JOURNAL_STUDY if search.storage is None else runner.folder.name
    common: dict[str, Any] = {
        "storage": absolute_url(search.storage) or str(runner.folder / JOURNAL),
        "study": search.study_name or name,
        "mode": best.mode,
        "n_startup_trials": search.n_startup_trials,
        "warmup": search.warmup,
    }
    is_dry_run, is_resumed = runner.config.sweep.dry_run, runner.config.sweep.resume is not None
    if search.storage is not None and not is_dry_run:
        check_storage(search, common, is_resumed)
    shared, space = parse_space(parse_overrides(runner.files, runner.config, overrides))
    boundaries = boundary_jobs(shared, space)
    runner.validate(boundaries)
    if is_dry_run:
        title = f"{search.trials} jobs to optimize {best.monitor} ({best.mode}), with values between or among these"
        runner.show_plan(boundaries, title)
        return
    jobs, pending = runner.sweep.jobs, runner.pending()
    pruning = {"_target_": "heedful.training.callbacks.pruning.Pruning", "monitor": best.monitor, **common}
    runner.objective = best
    with runner.recorded():
        drop_torn_line(runner.folder / JOURNAL)
        study = open_study(**common)
        require_trials(study, jobs)
        study.sampler = create_sampler(search, samplers, len(study.trials))
        is_exhausted = _report_outcomes(study, runner.folder, jobs)
        while not runner.signals and (pending or (len(jobs) < search.trials and not is_exhausted)):
            if not pending:
                for trial in [_ask(study, space) for _ in range(min(search.n_jobs, search.trials - len(jobs)))]:
                    sampled = [f"{key}={value}" for key, value in trial.params.items()]
                    pending.append(create_job(trial.number, [*shared, *sampled], shared))
                jobs += pending
                name_folders(runner.files, runner.config, jobs)
                runner.sweep.write(runner.folder)
            batch, pending = pending[: search.n_jobs], pending[search.n_jobs :]
            runner.launch(batch, None if search.warmup is None else pruning)
            is_exhausted = _report_outcomes(study, runner.folder, batch)


def create_sampler(search: SearchOptions, trusted: Set[str], trials: int = 0) -> Any:
    """Create the sampler of a search in a study that contains a number of trials, whose samples it must not repeat.

    Args:
        trusted: modules whose classes are allowed.
    """
    from optuna.samplers import BaseSampler

    node = {"_target_": search.sampler} if isinstance(search.sampler, str) else dict(search.sampler)
    target = str(node.pop("_target_", "TPESampler"))
    path = "hparams_search.sampler"
    try:
        cls = find_class(target if "." in target else f"optuna.samplers.{target}", trusted)
        if not issubclass(cls, BaseSampler) or isabstract(cls):
            raise ValueError("is not a sampler of Optuna, such as optuna.samplers.RandomSampler")
    except ValueError as error:
        raise UserError(f"{path}._target_={target}: {error}") from None
    known = of_class(cls).options
    defaults = {"n_startup_trials": search.n_startup_trials, "constant_liar": True, "seed": search.seed}
    node = {name: value for name, value in defaults.items() if name in known} | node
    if mistakes := list(option_mistakes(cls, node, path, set())):
        raise UserError(format_mistakes(mistakes))
    if node.get("seed") is not None:
        node["seed"] += trials
    try:
        return cls(**node)
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(f"{path}: {target}: {str(error).splitlines()[0]}") from error


def absolute_url(storage: str | None) -> str | None:
    """Return the URL of a database; the path of an SQLite file becomes absolute."""
    scheme, separator, path = (storage or "").partition(":///")
    return f"{scheme}:///{os.path.abspath(path)}" if scheme == "sqlite" and separator and path else storage


def check_storage(search: SearchOptions, options: Mapping[str, Any], is_resumed: bool) -> None:
    """Check that a database can be opened, and that the search may write to the study of this name, if there is one.

    Args:
        options: the options of `open_study`.
        is_resumed: whether the sweep is resumed.
    """
    import optuna

    storage, name = options["storage"], options["study"]
    try:
        exists = name in optuna.get_all_study_names(storage)
    except Exception as error:  # of any database
        raise UserError(f"hparams_search.storage={search.storage}: {str(error).splitlines()[0]}") from error
    if not exists:
        return
    if not (is_resumed or search.study_name):
        remedy = f"hparams_search.study_name={quote(name)} continues it, another name starts a new one"
        raise UserError(f"hparams_search.storage={search.storage}: has a study {name}: {remedy}")
    directions = [
        direction.name.lower() for direction in optuna.load_study(study_name=name, storage=storage).directions
    ]
    if directions != [direction_of(options["mode"])]:
        found = f"has the directions {format_names(directions)}, not {direction_of(options['mode'])}"
        raise UserError(f"hparams_search.study_name={name}: {found}: choose another name")


def require_trials(study: Any, jobs: Sequence[Job]) -> None:
    """Check that a study contains the trials of the jobs of a resumed search."""
    trials = study.trials
    for job in jobs:
        found = job.number < len(trials)
        if not found or not {f"{key}={value}" for key, value in trials[job.number].params.items()} <= set(
            job.overrides
        ):
            raise UserError(
                f"the study {study.study_name} does not contain the trial of job {job.folder}: resume the "
                "search with its hparams_search.storage and study_name"
            )


def _ask(study: Any, space: Mapping[str, Any]) -> Any:
    try:
        return study.ask(space)
    except ValueError as error:  # an earlier search in this study had another space
        raise UserError(f"hparams_search.study_name={study.study_name}: {error}") from error


def _report_outcomes(study: Any, folder: Path, jobs: Sequence[Job]) -> bool:
    """Report completed and pruned jobs to Optuna; the trial of any other job stays open until the job reruns.

    Returns:
        Whether the sampler has no further values, as that of a grid after its last trial.
    """
    from optuna.trial import TrialState

    is_exhausted = False
    for job in jobs:
        result = recorded_result(folder / job.folder)
        try:
            if result.status == "completed" and result.best.value is not None:
                study.tell(job.number, result.best.value, skip_if_finished=True)
            elif result.status == "pruned":
                study.tell(job.number, state=TrialState.PRUNED, skip_if_finished=True)
        except RuntimeError:  # the sampler stops the study, which is possible only in `Study.optimize`
            is_exhausted = True
    return is_exhausted


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
