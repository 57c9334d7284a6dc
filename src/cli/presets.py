"""Generated presets: `experiment=report_<encoder>_<attention>`, one for each of the twenty variants."""

import itertools
from pathlib import Path

import yaml
from hydra.core.config_store import ConfigStore

FILE = "experiment/twenty_variants.yaml"


def grid(conf: Path) -> dict[str, list[str]]:
    """The choices of each group that `experiment=twenty_variants` sweeps over.

    Args:
        conf: the folder of config files, which contains that experiment.
    """
    sweep = yaml.safe_load((conf / FILE).read_text(encoding="utf-8"))
    return {group: choices.split(",") for group, choices in sweep["hydra"]["sweeper"]["params"].items()}


def store_variants(conf: Path) -> None:
    """Register a preset for each combination of `experiment=twenty_variants`.

    Args:
        conf: the folder of config files.
    """
    if not (conf / FILE).exists():
        return
    choices = grid(conf)
    for combination in itertools.product(*choices.values()):
        overrides = [{f"override /{group}": choice} for group, choice in zip(choices, combination, strict=True)]
        name = "_".join(["report", *combination])
        node = {"defaults": ["report", *overrides, "_self_"], "task_name": name}
        ConfigStore.instance().store(
            name, node, group="experiment", package="_global_", provider=f"{conf.name}/experiment"
        )
