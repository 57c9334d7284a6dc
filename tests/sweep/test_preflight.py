"""Validation of jobs before the first one starts."""

from itertools import product
from pathlib import Path
from unittest.mock import Mock

import hydra
import pytest
from hydra.core.hydra_config import HydraConfig

import src.build  # noqa: F401  # once here instead of in each forked process
from src.config.compose import ConfigFiles, combinations
from src.errors import UserError
from src.sweep import run
from src.sweep.jobs import shared_overrides
from src.sweep.preflight import compose_job, parse_overrides, validate_jobs
from src.sweep_record import Job
from tests.helpers import repository


@pytest.fixture(autouse=True)
def reset_hydra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "START_METHOD", "fork")
    yield
    HydraConfig.instance().cfg = None


def validate(*overrides: str) -> list[Job]:
    files = repository("train")
    sweep = files.compose(["hydra.mode=MULTIRUN", "hydra.sweep.dir=sweep", *overrides], sweeps=True)
    jobs = list(combinations(parse_overrides(files, sweep, overrides)))
    shared = shared_overrides(jobs)
    composed = [compose_job(files, sweep, number, job, shared) for number, job in enumerate(jobs)]
    return validate_jobs(composed, shared)


def error_message(*overrides: str) -> str:
    with pytest.raises(UserError) as error:
        validate(*overrides)
    return str(error.value)


def test_every_job_has_its_folder() -> None:
    jobs = validate("seed=1,2", "model/attention=none,bahdanau")
    assert [job.overrides for job in jobs] == [
        [f"seed={seed}", f"model/attention={attention}"] for seed in (1, 2) for attention in ("none", "bahdanau")
    ]
    assert [job.folder for job in jobs][:2] == ["0_seed-1_attention-none", "1_seed-1_attention-bahdanau"]


def test_a_folder_is_named_after_varying_overrides() -> None:
    jobs = validate("trainer.max_epochs=3", "seed=1,2", "logger=csv")
    assert [job.folder for job in jobs] == ["0_seed-1", "1_seed-2"]
    assert jobs[0].overrides == ["trainer.max_epochs=3", "seed=1", "logger=csv"]


def test_the_folder_of_a_single_job_is_named_after_all_overrides_but_paths() -> None:
    job, *others = validate("seed=1", "logger=csv", "data.cache_dir='/home/me/a b'")
    assert (job.folder, others) == ("0_seed-1_logger-csv", [])


def test_folders_of_jobs_with_different_paths_contain_the_paths() -> None:
    jobs = validate("data.cache_dir=/a/cache,/b/cache")
    assert [job.folder for job in jobs] == ["0_cache_dir-a-cache", "1_cache_dir-b-cache"]


def test_all_mistakes_are_listed_with_their_jobs() -> None:
    message = error_message("trainer.log_every_n_steps=-1,7", "optimizer.lr=0.1,fast")
    assert message.splitlines() == [
        "2 mistakes in 3 of 4 jobs; nothing was started.",
        "  trainer.log_every_n_steps=-1   must be at least 0",
        "      job 0: trainer.log_every_n_steps=-1 optimizer.lr=0.1",
        "      job 1: trainer.log_every_n_steps=-1 optimizer.lr=fast",
        "  optimizer.lr=fast   must be a valid number",
        "      job 1: trainer.log_every_n_steps=-1 optimizer.lr=fast",
        "      job 3: trainer.log_every_n_steps=7 optimizer.lr=fast",
    ]


def test_duplicate_jobs_are_reported() -> None:
    message = error_message("seed=1,2,1")
    assert "has the same configuration as job 0: remove one of them\n      job 2: seed=1" in message


def test_jobs_with_the_same_folder_are_reported() -> None:
    message = error_message("seed=1,2", "hydra.sweep.subdir=here")
    assert "hydra.sweep.subdir   is also the folder of job 0\n      job 1: seed=2" in message


def test_long_lists_of_jobs_are_shortened() -> None:
    message = error_message("seed=range(9)", "optimizer.lr=fast")
    assert message.count("job ") == 6
    assert message.endswith("and 3 more")


def test_files_are_merged_once_for_each_choice_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    composed = Mock(side_effect=hydra.compose)
    monkeypatch.setattr(hydra, "compose", composed)
    files = ConfigFiles("train")
    sweep = files.compose(["hydra.mode=MULTIRUN", "hydra.sweep.dir=sweep"], sweeps=True)
    for number, (seed, attention) in enumerate(product((1, 2, 3), ("none", "bahdanau"))):
        overrides = [f"seed={seed}", f"model/attention={attention}"]
        job, cfg, mistakes = compose_job(files, sweep, number, overrides, ())
        assert (cfg.seed, cfg.hydra.runtime.choices["model/attention"], mistakes) == (seed, attention, [])
        assert (cfg.hydra.job.num, cfg.hydra.sweep.subdir) == (number, f"{number}_seed-{seed}_attention-{attention}")
        assert job.folder == cfg.hydra.sweep.subdir and cfg.hydra.overrides.task == overrides
    assert composed.call_count == 3
