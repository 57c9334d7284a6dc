"""What a sweep's command line expands to, and each job's configuration."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_loader import ConfigLoader
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from src.config.composition import without_hydra
from src.sweep.jobs import Job


def combinations(params: Mapping[str, str], arguments: Sequence[str], loader: ConfigLoader) -> list[list[str]]:
    """Every combination of the values: the overrides of each job.

    Args:
        params: of the sweeper, which the command line may override.
        arguments: the command line's overrides.
        loader: of the config files.
    """
    lines = [f"{key}={value}" for key, value in params.items()] + [*arguments]
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(lines)
    return BasicSweeper.split_arguments(parsed, None)[0]


class Composer:
    """Composes jobs as launchers do, but the jobs that choose the same files from one composition.

    Args:
        loader: of the config files.
        master: the sweep's own configuration.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self.loader = loader
        self.master = master
        self._groups = set(loader.list_groups(""))
        self._parser = OverridesParser.create(config_loader=loader)
        self._composed: dict[tuple[str, ...], DictConfig] = {}

    def choices(self, overrides: Sequence[str]) -> tuple[str, ...]:
        """Those of the overrides that choose a file."""
        return tuple(line for line in overrides if self._chooses(line))

    def _chooses(self, line: str) -> bool:
        key = line.lstrip("+~").partition("=")[0].partition("@")[0]
        return "/" in key or key in self._groups

    def __call__(self, number: int, overrides: Sequence[str]) -> DictConfig:
        """The whole configuration of a job, as a run in a folder of no matter which name sees it.

        Raises:
            HydraException: if the overrides cannot be applied.
        """
        choices = self.choices(overrides)
        if choices not in self._composed:
            self._composed[choices] = self.loader.load_sweep_config(self.master, list(choices))
        cfg = self._composed[choices].copy()
        options = [line for line in overrides if line not in choices]
        ConfigLoaderImpl._apply_overrides_to_config(self._parser.parse_overrides(options), cfg)
        with read_write(cfg.hydra), open_dict(cfg.hydra):
            cfg.hydra.overrides.task = list(overrides)
            cfg.hydra.job.num, cfg.hydra.job.id = number, str(number)
            cfg.hydra.runtime.output_dir = str(Path(cfg.hydra.sweep.dir) / "job")
        return cfg


def planned(number: int, overrides: Sequence[str], cfg: DictConfig) -> Job:
    """The job with the folder that Hydra gives it."""
    HydraConfig.instance().set_config(cfg)
    return Job(number, list(overrides), str(OmegaConf.select(cfg, "hydra.sweep.subdir")))


def task_of(cfg: DictConfig) -> DictConfig:
    """What the command gets of a job's configuration."""
    HydraConfig.instance().set_config(cfg)
    return without_hydra(cfg)
