"""Heed: text classification with attention.

In Python: `from src import load; load("best.ckpt").predict(["A film to remember"])`.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from src.api import load as load

if sys.argv[:1] == ["-m"]:  # `python -m src.<command>` imports this package before anything else
    from src.kernels.malloc import restart_without_cache
    from src.process import set_up_process

    if "src.train" in sys.orig_argv:  # other commands need less memory, and the cache speeds tokenizing up
        restart_without_cache()
    set_up_process()


def __getattr__(name: str) -> Any:
    """Import `load` on its first use, so that the commands start without importing torch."""
    if name == "load":
        from src.api import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
