"""Heedful: text classification with attention.

In Python: `from heedful import load; load("best.ckpt").predict(["A film to remember"])`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heedful.inference.api import load as load


def __getattr__(name: str) -> Any:
    """Import `load` on its first use, so that the commands start without importing torch."""
    if name == "load":
        from heedful.inference.api import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
