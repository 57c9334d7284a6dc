"""The names of jobs and of their folders."""

import re

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import open_dict, read_write

from src.config.jobs import job_folder, job_name
from tests.helpers import CONF


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ([], "3"),
        (["model/attention=bahdanau", "seed=1"], "3_attention-bahdanau_seed-1"),
        (["data.path=/home/me/a b.csv"], "3_path-home-me-a-b.csv"),
        (["optimizer.lr=1e-05", "logger=[csv,wandb]"], "3_lr-1e-05_logger-csv-wandb"),
        (["optimizer.lr=0.00023456789012", "model.head.dropout=0.1250"], "3_lr-0.0002346_dropout-0.1250"),
        (["data.path=v1.23456789.csv"], "3_path-v1.23456789.csv"),
        (["model.encoder.dropout=0.1", "model.head.dropout=0.3"], "3_encoder.dropout-0.1_head.dropout-0.3"),
    ],
)
def test_the_folder_of_a_job_contains_its_number_and_overrides(overrides: list[str], name: str) -> None:
    assert job_folder(3, overrides) == name


@given(st.integers(0, 10**6), st.lists(st.text()))
def test_the_name_of_a_folder_is_short_and_needs_no_quotes(number: int, overrides: list[str]) -> None:
    name = job_folder(number, overrides)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name)
    assert name == str(number) or name.startswith(f"{number}_")
    path = f"outputs/train/{name}/last.ckpt"
    assert OverridesParser.create().parse_override(f"ckpt_path={path}").value() == path


@pytest.mark.parametrize(("mode", "sweep"), [(RunMode.RUN, None), (RunMode.MULTIRUN, "2026-11-21")])
def test_the_name_of_a_job_is_that_of_its_folder(
    mode: RunMode, sweep: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with initialize_config_dir(CONF, version_base="1.3"):
        cfg = compose("train", return_hydra_config=True)
    with read_write(cfg), open_dict(cfg):
        cfg.hydra.runtime.output_dir, cfg.hydra.mode, cfg.hydra.job.name = "/2026-11-21/4_seed-2", mode, "train"
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)
    HydraConfig.instance().set_config(cfg)
    assert (job_name("command"), job_name("name"), job_name("sweep")) == ("train", "4_seed-2", sweep)
