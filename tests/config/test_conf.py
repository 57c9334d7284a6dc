"""The configs in conf/ are valid, and the schema contains their keys."""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from heedful.config.compose import without_hydra
from heedful.config.keys import CONF
from heedful.config.mistakes import Mistake
from heedful.config.schema import COMMANDS, RECORDS, config_mistakes
from tests.forks import complete
from tests.helpers import command, repository

REQUIRED = {*("ckpt_path", "out"), *("data.path", "data.name", "data.tokenizer.name_or_path")}


WHOLE_RUNS = ("model", "experiment", "debug", "hparams_search", "task")  # their files set options of other groups


def unexpected_mistakes(command: str, *lines: str) -> list[Mistake]:
    files = repository(command)
    cfg = without_hydra(files.compose([*lines, *(["paths.output_dir=x"] if "paths" in files.groups else [])]))
    return [mistake for mistake in config_mistakes(cfg, command) if mistake.entry not in REQUIRED]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_choice_of_every_group_is_valid(command: str) -> None:
    """Few compositions together contain every choice."""
    files = repository(command)
    chosen = files.compose(["ckpt_path=x"] if command != "train" else []).hydra.runtime.choices
    groups = [group for group in chosen if group not in WHOLE_RUNS and group.split("/")[0] != "hydra"]
    choices = {group: files.groups[group] for group in groups}
    for number in range(max(map(len, choices.values()))):
        lines = [f"{group}={names[number % len(names)]}" for group, names in choices.items()]
        if "loss=binary_relevance" in lines:
            lines += ["task=multilabel", "model/branch=none"]
        if not {"loss=mse", "loss=mae", "loss=huber"}.isdisjoint(lines):
            lines += ["task=regression", "model/attention=bahdanau", "data=csv", "data.path=x"]
        assert unexpected_mistakes(command, *lines) == []


@pytest.mark.parametrize(
    "file", [f"{group}={path.stem}" for group in WHOLE_RUNS for path in CONF.glob(f"{group}/*.yaml")]
)
def test_every_experiment_is_valid(file: str) -> None:
    data = ["data=csv", "data.path=x"] if file == "task=regression" else []  # the default data have classes
    assert unexpected_mistakes("train", file, *data) == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_schema_contains_the_keys_of_the_configs(command: str) -> None:
    task: Any = OmegaConf.to_container(without_hydra(repository(command).compose([])), resolve=False)
    assert set(task) <= set(COMMANDS[command])
    for name in set(RECORDS) & set(task):
        assert set(task[name]) <= set(RECORDS[name])
    for name in {"paths", "extras"} & set(task):
        assert set(task[name]) == set(RECORDS[name])


def test_every_command_has_a_config() -> None:
    configs = {path.stem for path in CONF.glob("*.yaml")}
    assert configs == {*COMMANDS, "shortlist"}


def test_a_library_with_a_handler_of_its_own_prints_a_warning_once(tmp_path: Path) -> None:
    program = (
        "from hydra.core.utils import configure_log\n"
        "from tests.helpers import repository\n"
        "configure_log(repository('predict').compose(['ckpt_path=x']).hydra.job_logging)\n"
        "from huggingface_hub.utils import logging\n"
        "logging.get_logger('huggingface_hub.utils').warning('Retrying in 1s')\n"
    )
    (python, *_), options = command(tmp_path, "predict")
    assert complete([python, "-c", program], options).stderr.count("Retrying in 1s") == 1
