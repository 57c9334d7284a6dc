"""The configs in conf/ are valid, and the schema contains their keys."""

from typing import Any

import pytest
from omegaconf import OmegaConf

from src.cli.entry import CONF
from src.cli.overrides import command_line_mistakes
from src.config.composition import without_hydra
from src.config.mistakes import Mistake
from src.config.options import COMMANDS, WITHIN
from tests.helpers import repository

REQUIRED = {
    *("ckpt_path", "out", "callbacks.lexicon.path"),
    *("data._target_", "data.path", "data.name", "data.tokenizer.name_or_path"),
}


WHOLE_RUNS = ("experiment", "debug", "hparams_search")  # groups whose files set options of other groups


def unexpected_mistakes(command: str, *lines: str) -> list[Mistake]:
    mistakes = command_line_mistakes(repository(command), list(lines), sweeps=True, deep=True)
    return [mistake for mistake in mistakes if mistake.entry not in REQUIRED]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_choice_of_every_group_is_valid(command: str) -> None:
    """The sweep is checked with few compositions, which together contain every choice."""
    groups = [path.rpartition("/")[0] for path in repository(command).choices([])]
    assert (
        unexpected_mistakes(
            command,
            *[f"{group}=glob(*)" for group in groups if group.split("/")[0] not in ("", "hydra", *WHOLE_RUNS)],
        )
        == []
    )


@pytest.mark.parametrize(
    "file", [f"{group}={path.stem}" for group in WHOLE_RUNS for path in CONF.glob(f"{group}/*.yaml")]
)
def test_every_experiment_is_valid(file: str) -> None:
    assert unexpected_mistakes("train", file) == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_schema_contains_the_keys_of_the_configs(command: str) -> None:
    task: Any = OmegaConf.to_container(without_hydra(repository(command).compose([])), resolve=False)
    assert set(task) <= set(COMMANDS[command])
    for name in set(WITHIN) & set(task):
        assert set(task[name]) <= set(WITHIN[name])
    for name in {"paths", "extras"} & set(task):
        assert set(task[name]) == set(WITHIN[name])


def test_every_command_has_a_config() -> None:
    configs = {path.stem for path in CONF.glob("*.yaml")}
    assert configs == set(COMMANDS)
