"""Presets that no file holds: `experiment=report_<encoder>_<attention>`, one for each of the twenty variants."""

import itertools
from pathlib import Path

import yaml
from hydra.core.config_store import ConfigStore


def store_variants(conf: Path) -> None:
    """Make each combination that `experiment=twenty_variants` sweeps over a preset of its own.

    Args:
        conf: the folder of config files.
    """
    file = conf / "experiment" / "twenty_variants.yaml"
    if not file.exists():
        return
    sweep = yaml.safe_load(file.read_text(encoding="utf-8"))
    grid = {group: choices.split(",") for group, choices in sweep["hydra"]["sweeper"]["params"].items()}
    for chosen in itertools.product(*grid.values()):
        overrides = [{f"override /{group}": choice} for group, choice in zip(grid, chosen, strict=True)]
        name = "_".join(["report", *chosen])
        node = {"defaults": ["report", *overrides, "_self_"], "task_name": name}
        ConfigStore.instance().store(
            name, node, group="experiment", package="_global_", provider=f"{conf.name}/experiment"
        )
