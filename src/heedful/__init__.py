"""Heedful: text classification with attention.

In Python: `from heedful import load; load("best.ckpt").predict(["A film to remember"])`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heedful.commands.estimator import TextClassifier as TextClassifier
    from heedful.config.compose import compose as compose
    from heedful.inference.api import load as load
    from heedful.launch.trained_run import train as train
    from heedful.selection.shortlist import shortlist as shortlist
    from heedful.training.build import datamodule as datamodule
    from heedful.training.lit import LitClassifier as LitClassifier

__version__ = "0.1.0"

MODULES = {
    "compose": "heedful.config.compose",
    "load": "heedful.inference.api",
    "train": "heedful.launch.trained_run",
    "shortlist": "heedful.selection.shortlist",
    "TextClassifier": "heedful.commands.estimator",
    "datamodule": "heedful.training.build",
    "LitClassifier": "heedful.training.lit",
}


__all__ = sorted(MODULES)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import a function or class on its first use, so that the commands start without importing torch."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES[name]), name)
