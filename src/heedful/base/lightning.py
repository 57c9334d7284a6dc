"""The import of Lightning, which takes seconds, and what it says of this process."""

import sys
from unittest.mock import patch

from heedful.base.process import importing

HIDDEN = ("matplotlib", "scipy", "transformers")  # packages that only plots, text and audio metrics need


def is_main_process() -> bool:
    """Return whether this process writes files; exactly one process of a distributed run writes files."""
    from pytorch_lightning.utilities import rank_zero_only

    return getattr(rank_zero_only, "rank", 0) == 0


def import_lightning() -> None:
    """Import Lightning, and torchmetrics as if the HIDDEN packages were not installed, which saves 3 s of CPU time.

    A program that has imported Lightning itself is left as it is.
    """
    if "pytorch_lightning" in sys.modules:
        return
    from lightning_utilities.core import imports

    is_available, is_met = imports.package_available, imports.RequirementCache.__bool__
    hidden = (
        patch.object(imports, "package_available", lambda name: name not in HIDDEN and is_available(name)),
        patch.object(
            imports.RequirementCache,
            "__bool__",
            lambda cache: not (cache.requirement or "").startswith(HIDDEN) and is_met(cache),
        ),
    )
    with importing():
        with hidden[0], hidden[1]:
            import torchmetrics  # noqa: F401
        import pytorch_lightning  # noqa: F401
