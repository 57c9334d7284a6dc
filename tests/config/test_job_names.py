"""What a job is called, for the loggers."""

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import open_dict, read_write

from src.config.job_names import job_name
from tests.helpers import CONF


@pytest.mark.parametrize(("mode", "sweep"), [(RunMode.RUN, None), (RunMode.MULTIRUN, "2026-11-21")])
def test_a_job_is_called_after_its_folder(mode: RunMode, sweep: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    with initialize_config_dir(CONF, version_base="1.3"):
        cfg = compose("train", return_hydra_config=True)
    with read_write(cfg), open_dict(cfg):
        cfg.hydra.runtime.output_dir, cfg.hydra.mode, cfg.hydra.job.name = "/2026-11-21/4_seed-2", mode, "train"
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)
    HydraConfig.instance().set_config(cfg)
    assert (job_name("command"), job_name("name"), job_name("sweep")) == ("train", "4_seed-2", sweep)


def test_a_job_that_is_only_shown_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `--cfg job --resolve` shows it, without a folder."""
    with initialize_config_dir(CONF, version_base="1.3"):
        cfg = compose("train", return_hydra_config=True)
    with read_write(cfg), open_dict(cfg):
        cfg.hydra.runtime.output_dir, cfg.hydra.job.name = "???", "train"
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)
    HydraConfig.instance().set_config(cfg)
    assert (job_name("command"), job_name("name"), job_name("sweep")) == ("train", None, None)


def test_without_hydra_it_has_no_name() -> None:
    assert job_name("name") is None


def test_another_question_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\$\{job:group\} must be command, name or sweep"):
        job_name("group")
