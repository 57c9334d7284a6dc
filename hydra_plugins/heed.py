"""Heed's sweeper as a Hydra plugin.

Hydra rejects sweepers outside the package hydra_plugins, even if they are registered (`is_in_toplevel_plugins_module`).
"""

from src.sweep.sweeper import GridOrSearch


class Sweeper(GridOrSearch):
    """The sweeper of `src.sweep.sweeper`, under the name that Hydra accepts."""
