"""Heed's sweeper as a Hydra plugin. Hydra searches for plugins only in packages of the name hydra_plugins."""

from src.sweep.sweeper import GridOrSearch


class Sweeper(GridOrSearch):
    """The sweeper of `src.sweep.sweeper`, under the name that Hydra finds."""
