"""What the choices of groups set, from one composition; each composition takes a quarter of a second."""

from functools import cache
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig, OmegaConf

from tests.helpers import repository, small_config


@cache
def choice_nodes(*groups: str) -> dict[str, dict[str, Any]]:
    """The node that each choice of the groups sets, by group and choice; references are kept."""
    files = repository("train")
    places = {group: group.replace("/", "_") for group in groups}
    lines = [
        f"+{group}@all.{places[group]}.n{i}={name}" for group in groups for i, name in enumerate(files.groups[group])
    ]
    with files.initialized():
        cfg: Any = OmegaConf.to_container(hydra.compose("train", lines))
    return {group: dict(zip(files.groups[group], cfg["all"][places[group]].values(), strict=True)) for group in groups}


def config_with(*lines: str, base: DictConfig | None = None) -> DictConfig:
    """A small configuration with other choices, which are not composed anew, and then with other options."""
    cfg = small_config(Path("unused")) if base is None else base
    OmegaConf.set_struct(cfg, False)
    choices = [line for line in lines if line.partition("=")[0] in repository("train").groups]
    for group, name in (line.split("=") for line in choices):
        OmegaConf.update(cfg, group.replace("/", "."), choice_nodes(group)[group][name], merge=False)
    cfg.merge_with_dotlist([line.removeprefix("+") for line in lines if line not in choices])
    return cfg
