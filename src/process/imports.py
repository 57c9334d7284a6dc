"""Shorten the import of torchmetrics, which imports packages that Heed's metrics do not need.

torchmetrics imports all of its metrics and, for some text and audio metrics, also transformers and scipy.signal if they
are installed. Importing these two takes as long as all other imports, and classification metrics do not use them.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

HIDDEN = ("scipy", "transformers")  # packages that torchmetrics must not find while it is imported


def hide_unused_packages() -> None:
    """Make a later import of torchmetrics proceed as if the HIDDEN packages were not installed."""
    if "torchmetrics" not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds only the module torchmetrics, and then removes itself from `sys.meta_path`."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "torchmetrics":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            loader.exec_module = partial(_execute_without_hidden, loader.exec_module)
        return spec


def _execute_without_hidden(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
    """Execute a module while `lightning_utilities` reports the HIDDEN packages as absent."""
    from lightning_utilities.core import imports

    utilities: Any = imports
    requirement_met, package_available = utilities.RequirementCache.__bool__, utilities.package_available

    def is_met(cache: Any) -> bool:
        return not (cache.requirement or "").startswith(HIDDEN) and requirement_met(cache)

    utilities.RequirementCache.__bool__ = is_met
    utilities.package_available = lambda name: name not in HIDDEN and package_available(name)
    try:
        execute(module)
    finally:
        utilities.RequirementCache.__bool__, utilities.package_available = requirement_met, package_available
