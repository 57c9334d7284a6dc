"""What the choices of groups set, from one composition; each composition takes a quarter of a second."""

from functools import cache
from typing import Any

import hydra
from omegaconf import OmegaConf

from tests.helpers import repository


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
