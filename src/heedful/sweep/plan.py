"""Plan the jobs of a sweep, and validate all of them before the first one starts."""

import logging
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from hydra.core.utils import setup_globals
from omegaconf import DictConfig, OmegaConf

from heedful.base.errors import UserError
from heedful.base.formatting import format_count
from heedful.config.compose import ConfigFiles
from heedful.config.keys import plain_value
from heedful.config.mistakes import Mistake
from heedful.config.overrides import Override, as_typed, key_of, parse_override
from heedful.config.schema import config_mistakes
from heedful.launch.composition import as_run, untrusted
from heedful.runs.result import Data
from heedful.runs.sweep_record import Job
from heedful.sweep.job import die_with_parent, job_context

if TYPE_CHECKING:
    from heedful.data.source import Source

SHOWN = 6  # maximum number of jobs listed for each mistake
MAX_NAME_LENGTH = 100
_sources: dict[str, "Source | UserError"] = {}  # of this process, by the options of `data`
_rehearsed: set[str] = set()  # combinations of data, model, loss, metrics and callbacks
FRACTION = re.compile(r"(?<![\w.])[0-9]+\.[0-9]{5,}(e-?[0-9]+)?(?![\w.])", re.ASCII)  # five or more decimal places


def parse_overrides(files: ConfigFiles, sweep: DictConfig, lines: Sequence[str]) -> list[Override]:
    """Parse the overrides of a sweep; if an option is set several times, the last override counts.

    Raises:
        UserError: if an override is wrong; those of the command line were checked earlier, unlike those of files.
    """
    last = {key_of(line): line for line in lines}.values()
    files.compose([*_hydra_overrides(sweep), *last], sweeps=True)
    return [parse_override(line, files.groups) for line in last]


def grid(overrides: Iterable[Sequence[str]]) -> list[Job]:
    """Return a job for each combination of overrides; its folder is named after those that not all jobs share."""
    lists = list(map(list, dict.fromkeys(map(tuple, overrides))))  # a value that was listed twice is run once
    shared = set(lists[0]).intersection(*lists) if len(lists) > 1 else set[str]()
    return [create_job(number, lines, shared) for number, lines in enumerate(lists)]


def create_job(number: int, overrides: list[str], shared: Collection[str] = ()) -> Job:
    """Create a job; the name of its folder contains those of its overrides that are not in `shared`.

    Job 3 with `model/attention=none` and `seed=1` has the folder `3_attention-none_seed-1`. A number with five or more
    decimal places, such as a value that a search sampled, is rounded to four significant digits. If several options
    have the same last word, the name also contains the word before it. The name consists of at most 100 ASCII letters,
    digits, dots, hyphens and underscores, so an override needs no quotes around it.
    """
    pairs = [line.partition("=")[::2] for line in overrides if line not in shared]
    keys = [re.split("[/.]", key) for key, _ in pairs]
    counts = Counter(key[-1] for key in keys)
    words = [str(number)]
    for key, (_, value) in zip(keys, pairs, strict=True):
        name = ".".join(key[-2:] if counts[key[-1]] > 1 else key[-1:])
        value = FRACTION.sub(lambda digits: f"{float(digits[0]):.4g}", value)
        words.append(re.sub("[^A-Za-z0-9._]+", "-", f"{name}={value}"))
    return Job(number=number, overrides=overrides, folder="_".join(words)[:MAX_NAME_LENGTH].strip("-_."))


def validate_jobs(files: ConfigFiles, sweep: DictConfig, jobs: Sequence[Job]) -> dict[str, Data]:
    """Compose and validate the configurations of jobs, and read their data, in processes with the imports of a job.

    Returns:
        The distinct data, each by the folder of the first job that uses it.

    Raises:
        UserError: if a job cannot run; the message lists all mistakes, each with the jobs that contain it.
    """
    size = -(-len(jobs) // (os.cpu_count() or 1)) or 1
    with ProcessPoolExecutor(os.cpu_count(), job_context(), initializer=_set_up_worker) as pool:
        results = list(pool.map(partial(examine, files, sweep), jobs, chunksize=size))
    found = [mistakes for mistakes, _ in results]
    folders_by_mistake: dict[Mistake, list[str]] = {}
    for job, mistakes in zip(jobs, found, strict=True):
        for mistake in mistakes:
            folders_by_mistake.setdefault(mistake, []).append(job.folder)
    if not folders_by_mistake:
        first: dict[str | None, tuple[str, Data]] = {}
        for job, (_, data) in zip(jobs, results, strict=True):
            if data is not None:
                first.setdefault(data.fingerprint, (job.folder, data))
        return dict(first.values())
    invalid = f"{sum(map(bool, found))} of {format_count(len(jobs), 'job')}"
    lines = [f"{format_count(len(folders_by_mistake), 'mistake')} in {invalid}; nothing was started."]
    for mistake, folders in folders_by_mistake.items():
        lines += [f"  {'   '.join(filter(None, mistake))}", *(f"      {folder}" for folder in folders[:SHOWN])]
        lines += [f"      and {len(folders) - SHOWN} more"] * (len(folders) > SHOWN)
    raise UserError("\n".join(lines))


def examine(files: ConfigFiles, sweep: DictConfig, job: Job) -> tuple[list[Mistake], Data | None]:
    """Return the mistakes in the configuration of a job; if there are none, also those for its data, and the data.

    Files are merged, and data are read, once for each choice of them.
    """
    setup_globals()
    lines = [*_hydra_overrides(sweep), *job.overrides]
    cfg, mistakes = files.check(lines)
    if mistakes := mistakes or list(untrusted(files, cfg, lines)):
        return mistakes, None
    with as_run(cfg, f"{sweep.hydra.sweep.dir}/{job.folder}", job.number) as task:
        if mistakes := config_mistakes(task, files.command, variables=files.variables):
            return mistakes, None
        try:
            return [], rehearse_job(task)
        except UserError as error:
            return [Mistake("", str(error))], None


def compose_job(files: ConfigFiles, sweep: DictConfig, lines: list[str]) -> DictConfig:
    """Compose the configuration of a job as Hydra's loader does, but merge the files once for each choice of them."""
    cfg = files.compose([*_hydra_overrides(sweep), *lines])
    OmegaConf.copy_cache(from_config=sweep, to_config=cfg)  # the same time stamps
    return cfg


def rehearse_job(cfg: DictConfig) -> Data:
    """Read the data of a run, create what depends on their classes and vocabulary, and describe the data."""
    from heedful.data.trained_texts import TrainedTexts
    from heedful.runs.data_summary import summarize_data
    from heedful.training import build

    options = {**plain_value(cfg, "data"), "seed": None, "progress": None}  # which change no texts
    if (key := repr(options)) not in _sources:
        try:
            _sources[key] = build.datamodule(cfg)
        except UserError as error:
            _sources[key] = error
    if isinstance(data := _sources[key], UserError):
        raise data
    names = ("model", "loss", "metrics", "callbacks", "scheduler")
    if (parts := repr((key, *(plain_value(cfg, name) for name in names)))) not in _rehearsed:
        build.rehearse(cfg, data)
        _rehearsed.add(parts)
    return summarize_data(data, [TrainedTexts.of(data.tokenized("train").token_digests, of_tokens=True)])


def _set_up_worker() -> None:
    die_with_parent()
    logging.disable(logging.WARNING)  # the jobs log the same


def _hydra_overrides(sweep: DictConfig) -> list[str]:
    """Return the overrides of the node `hydra` of a sweep, except the search path, which `ConfigFiles` adds itself."""
    return [line for line in as_typed(sweep.hydra.overrides.hydra) if key_of(line) != "hydra.searchpath"]
