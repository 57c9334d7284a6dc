"""The configs in conf/ are valid, and the schema contains their keys."""

from copy import deepcopy
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from heedful.config.compose import without_hydra
from heedful.config.keys import CONF
from heedful.config.mistakes import Mistake
from heedful.config.schema import COMMANDS, RECORDS, config_mistakes
from tests.config.nodes import choice_nodes
from tests.forks import complete
from tests.helpers import command, repository

REQUIRED = {*("ckpt_path", "out"), *("data.path", "data.name", "data.tokenizer.name_or_path")}


# The files of the others set options of several groups; trainings in other tests choose them, except the experiments.
OF_RUNS = ("model", "experiment", "debug", "hparams_search", "task", "paths")
GROUPS = [name for name in repository("train").groups if name not in OF_RUNS and not name.startswith("hydra")]


@cache
def plain_config(command: str, *lines: str) -> dict[str, Any]:
    """What the files of a command compose, without the node `hydra`; references are kept."""
    files = repository(command)
    given = [*lines, *(["paths.output_dir=x"] if "paths" in files.groups else [])]
    return OmegaConf.to_container(without_hydra(files.compose(given)))  # type: ignore[return-value]


def unexpected_mistakes(command: str, config: dict[str, Any]) -> list[Mistake]:
    return [mistake for mistake in config_mistakes(OmegaConf.create(config), command) if mistake.entry not in REQUIRED]


def test_every_choice_of_every_group_is_valid() -> None:
    """Few configurations of a command together contain every choice."""
    nodes = choice_nodes(*GROUPS)
    for kind in sorted(COMMANDS):
        files = repository(kind)
        chosen = files.compose(["ckpt_path=x"] if kind != "train" else []).hydra.runtime.choices
        groups = sorted(set(GROUPS) & set(chosen))  # data before its tokenizer
        for number in range(max(len(nodes[group]) for group in groups)):
            names = {group: list(nodes[group])[number % len(nodes[group])] for group in groups}
            lines = list[str]()
            if names.get("loss") == "binary_relevance":
                lines = ["task=multilabel", "model/branch=none"]
                names["model/branch"] = "none"
            if names.get("loss") in ("mse", "mae", "huber"):
                lines = ["task=regression", "data=csv", "data.path=x"]
                names |= {"model/attention": "bahdanau", "data": "csv"}
            config = deepcopy(plain_config(kind, *lines))
            for group, name in names.items():
                *parents, last = group.split("/")
                reduce(lambda node, key: node[key], parents, config)[last] = deepcopy(nodes[group][name])
            assert unexpected_mistakes(kind, config) == [], names


@pytest.mark.parametrize("name", [path.stem for path in CONF.glob("experiment/*.yaml")])
def test_every_experiment_is_valid(name: str) -> None:
    assert unexpected_mistakes("train", plain_config("train", f"experiment={name}")) == []


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
