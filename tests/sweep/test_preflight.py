"""What is said of jobs before the first one begins."""

from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from src.errors import UserError
from src.sweep.compose import Composer, combinations
from src.sweep.jobs import Job
from src.sweep.preflight import look_over
from tests.helpers import CONF


@pytest.fixture(autouse=True)
def forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    yield
    HydraConfig.instance().cfg = None


def looked_over(*overrides: str) -> list[Job]:
    with initialize_config_dir(CONF, version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        loader = hydra.config_loader
        master = loader.load_configuration("train", ["hydra.job.name=train", "hydra.sweep.dir=sweep"], RunMode.MULTIRUN)
        lines = combinations({}, overrides, loader)
        return look_over(Composer(loader, master), list(enumerate(lines)))


def refused(*overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        looked_over(*overrides)
    return str(caught.value)


def test_every_job_gets_its_folder() -> None:
    jobs = looked_over("seed=1,2", "model/attention=none,bahdanau")
    assert [job.overrides for job in jobs] == [
        [f"seed={seed}", f"model/attention={attention}"] for seed in (1, 2) for attention in ("none", "bahdanau")
    ]
    assert [job.folder for job in jobs][:2] == ["0_seed-1_attention-none", "1_seed-1_attention-bahdanau"]


def test_all_mistakes_are_listed_with_the_jobs_that_make_them() -> None:
    said = refused("model.encoder.hidden_dim=0,7", "model/attention=bahdanau,multi_head")
    assert said.splitlines() == [
        "2 mistakes in 3 of 4 jobs; nothing was started.",
        "  model.encoder.hidden_dim=0   must be at least 1",
        "      job 0: model.encoder.hidden_dim=0 model/attention=bahdanau",
        "      job 1: model.encoder.hidden_dim=0 model/attention=multi_head",
        "  model.attention.heads=4   must divide the 14 features of a state",
        "      job 3: model.encoder.hidden_dim=7 model/attention=multi_head",
    ]


def test_a_job_that_does_what_another_does_is_named() -> None:
    said = refused("seed=1,2,1")
    assert "does the same as job 0: leave one of them out\n      job 2: seed=1" in said


def test_two_jobs_of_one_folder_are_named() -> None:
    said = refused("seed=1,2", "hydra.sweep.subdir=here")
    assert "hydra.sweep.subdir   is the same folder as that of job 0\n      job 1: seed=2" in said


def test_data_that_are_missing_are_named(tmp_path: Path) -> None:
    said = refused("seed=1,2", "data=csv", "data.path=nowhere.csv")
    assert "nowhere.csv" in said
    assert said.startswith("1 mistake in 2 of 2 jobs")


def test_a_component_of_a_wrong_shape_is_named() -> None:
    target = "model.attention._target_=tests.models.wrong_shapes.ScorePerFeature"
    said = refused("seed=1,2", "model/attention=none", target, "extras.trusted_modules=[tests]")
    assert said.startswith("1 mistake in 2 of 2 jobs")
    assert "ScorePerFeature.score returned a tensor of shape 3×7×256; the shape must be N×T = 3×7" in said


def test_a_sweep_trains_on_one_device() -> None:
    said = refused("seed=1,2", "trainer=ddp_sim")
    assert "trainer.strategy=ddp trainer.devices=2   a job of a sweep trains on one device" in said


def test_of_many_jobs_only_some_are_shown() -> None:
    said = refused("seed=range(9)", "model.encoder.layers=0")
    assert said.count("job ") == 6
    assert said.endswith("and 3 more")
