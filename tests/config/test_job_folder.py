import re

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from src.config.job_folder import job_folder


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ([], "3"),
        (["model/attention=bahdanau", "seed=1"], "3_attention-bahdanau_seed-1"),
        (["data.path=/home/me/a b.csv"], "3_path-home-me-a-b.csv"),
        (["optimizer.lr=1e-05", "logger=[csv,wandb]"], "3_lr-1e-05_logger-csv-wandb"),
        (["+model.encoder.bias=false"], "3_bias-false"),
    ],
)
def test_names(overrides: list[str], name: str) -> None:
    assert job_folder(3, overrides) == name


@given(st.integers(0, 10**6), st.lists(st.text()))
def test_a_name_is_one_short_folder_that_the_command_line_takes_unquoted(number: int, overrides: list[str]) -> None:
    name = job_folder(number, overrides)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name)
    assert name == str(number) or name.startswith(f"{number}_")
    path = f"outputs/train/{name}/last.ckpt"
    assert OverridesParser.create().parse_override(f"ckpt_path={path}").value() == path
