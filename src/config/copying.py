"""Copy a configuration quickly."""

import pickle

from omegaconf import DictConfig


def copy_config(cfg: DictConfig) -> DictConfig:
    """Return a copy of a whole configuration; pickle takes a third of the time of `cfg.copy()`."""
    copied: DictConfig = pickle.loads(pickle.dumps(cfg))
    return copied
