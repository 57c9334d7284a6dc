"""Heed's sweeper as a Hydra plugin.

Hydra rejects sweepers outside the package hydra_plugins, even if they are registered (`is_in_toplevel_plugins_module`),
and imports this module at the start of every command.
"""

from typing import Any

from hydra.plugins import sweeper


class Sweeper(sweeper.Sweeper):
    """The sweeper of `src.sweep.sweeper`, which is imported only if a sweep starts."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def setup(self, **context: Any) -> None:
        from src.sweep.sweeper import GridOrSearch

        self.sweeper = GridOrSearch(**self.options)
        self.sweeper.setup(**context)

    def sweep(self, arguments: list[str]) -> None:
        self.sweeper.sweep(arguments)
