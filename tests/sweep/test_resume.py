"""Resuming a sweep and its jobs."""

import re
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from src.config.composition import Repository
from src.config.hydra_adapter import parse_flags
from src.errors import UserError
from src.run_folder import trim
from src.sweep.jobs import Job, Sweep
from src.sweep.resume import restore_sweep_overrides, resume_from_last_checkpoint
from tests.helpers import CONF

ARGUMENTS = ["-m", "seed=1,2", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "sweep.dry_run=false"]


def restore(*arguments: str) -> list[str]:
    return restore_sweep_overrides(parse_flags(arguments), Repository(Path(CONF), "train"))


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    Sweep(tmp_path, ARGUMENTS, [Job(0, ["seed=1"], "0"), Job(1, ["seed=2"], "1")]).write()
    return tmp_path


def test_a_sweep_resumes_with_its_original_command_line(sweep: Path) -> None:
    folders = [f'hydra.sweep.dir="{sweep}"', f'sweep.resume="{sweep}"']
    assert restore(f"sweep.resume={sweep}") == [*ARGUMENTS[1:4], *folders]


def test_another_launcher_drops_the_options_of_the_previous_launcher(sweep: Path) -> None:
    arguments = restore(f"sweep.resume={sweep}", "hydra/launcher=basic")
    assert arguments[:2] == ["seed=1,2", "hydra/launcher=basic"]


def test_other_overrides_are_refused(sweep: Path) -> None:
    with pytest.raises(UserError, match=r"takes all overrides from the sweep: remove seed=3 optimizer\.lr=1"):
        restore("seed=3", f"sweep.resume={sweep}", "optimizer.lr=1")


@pytest.mark.parametrize(
    "override",
    [
        "+hydra.job.env_set.PATH=/other:/usr/bin",
        "+hydra.job={env_set: {PATH: /other}}",
        "extras.trusted_modules=[runpy]",
        "extras={trusted_modules: [runpy]}",
        "hydra.searchpath=[file:///other]",
        "+hydra.callbacks.x._target_=hydra.experimental.callbacks.LogJobReturnCallback",
        "+hydra.launcher.setup=[reboot]",
        "hydra.sweeper.params={extras.trusted_modules: '[runpy]'}",
        "+loss@extras=cross_entropy",
        "paths.output_dir=/other",
        "data={cache_dir: /other}",
        "callbacks.last_checkpoint.dirpath=/other",
        "callbacks.last_checkpoint.dirpath=${hydra:sweep.dir}/${tags.0}",
        "+callbacks.x._target_=runpy.run_path",
        "--config-dir=/other",
        "--config-path=/other",
    ],
)
def test_overrides_in_a_sweep_file_that_choose_code_or_destinations_are_refused(override: str, sweep: Path) -> None:
    Sweep(sweep, [*ARGUMENTS, override], [Job(0, ["seed=1"], "0")]).write()
    with pytest.raises(
        UserError,
        match=r"(?s)sweep\.json has overrides or flags that are not allowed.*" + re.escape(override.lstrip("-")),
    ):
        restore(f"sweep.resume={sweep}")


@pytest.mark.parametrize("line", ["+hydra.job.env_set.PATH=/other", "extras.trusted_modules=[runpy]", "data=../x"])
def test_jobs_in_a_sweep_file_that_choose_code_are_refused(line: str, sweep: Path) -> None:
    Sweep(sweep, ARGUMENTS, [Job(0, ["seed=1", line], "0")]).write()
    with pytest.raises(UserError, match=r"sweep\.json has overrides or flags that are not allowed"):
        restore(f"sweep.resume={sweep}")


def test_repeated_overrides_are_allowed(sweep: Path) -> None:
    allowed = ["extras.trusted_modules=[mine]", "+hydra.job.env_set.PATH=/own", "data.cache_dir=/a,/b"]
    jobs = [Job(i, ["seed=1", allowed[0], f"data.cache_dir={path}"], str(i)) for i, path in enumerate(("/a", "/b"))]
    Sweep(sweep, [*ARGUMENTS, *allowed], jobs).write()
    restored = restore(f"sweep.resume={sweep}", *allowed)
    assert [line for line in restored if line in allowed] == allowed
    with pytest.raises(UserError, match=r"remove extras\.trusted_modules=\[other\]"):
        restore(f"sweep.resume={sweep}", "extras.trusted_modules=[other]")


@pytest.mark.parametrize("empty", ["sweep.resume=", "sweep.resume=null", "sweep.resume=' '"])
def test_an_empty_folder_is_reported(empty: str) -> None:
    with pytest.raises(UserError, match=r"sweep\.resume= is empty: name the folder"):
        restore(empty)


def test_a_folder_without_a_sweep_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not the folder of a sweep: it has no sweep\.json"):
        restore(f"sweep.resume={tmp_path}")


def test_a_damaged_sweep_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"jobs": [{"number": 1}]}')
    with pytest.raises(UserError, match=r"sweep\.json cannot be read .*start the sweep anew"):
        restore(f"sweep.resume={tmp_path}")


def test_rows_logged_after_the_checkpoint_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n1,10,0.2\n2,1")  # the last line is truncated
    trim(path, 10)
    assert path.read_text() == "epoch,step,loss\n0,4,0.5\n0,4,\n1,9,0.25\n"
    trim(path, 0)
    assert not path.exists()


def test_a_job_with_a_damaged_checkpoint_restarts(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").write_bytes(b"truncated")
    (tmp_path / "gradients.csv").write_text("step,part,norm\n0,encoder,1\n")
    cfg = OmegaConf.create({"train": True, "ckpt_path": None})
    resume_from_last_checkpoint(cfg, tmp_path)
    assert cfg.ckpt_path is None
    assert not (tmp_path / "gradients.csv").exists()
