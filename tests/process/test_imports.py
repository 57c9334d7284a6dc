"""Importing Heed's training code does not import packages that only other metrics of torchmetrics need."""

import subprocess
import sys

from src.process.imports import hide_unused_packages
from tests.helpers import ROOT

UNUSED = ("transformers", "scipy.signal", "datasets", "wandb", "onnxruntime", "pandas")


def test_training_does_not_import_unused_packages() -> None:
    code = f"""
import sys
import src
assert "torchmetrics" not in sys.modules
import src.train, src.build, pytorch_lightning, torchmetrics
from lightning_utilities.core.imports import RequirementCache, package_available
assert RequirementCache("scipy") and package_available("scipy")  # hidden from torchmetrics only
assert torchmetrics.__loader__ is torchmetrics.__spec__.loader
assert torchmetrics.__loader__.get_source("torchmetrics")
assert not any(finder.__class__.__module__.startswith("src") for finder in sys.meta_path)
torchmetrics.classification.MulticlassAccuracy(num_classes=3)
print(*[name for name in {UNUSED} if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.strip()) == (0, ""), result.stderr


def test_finders_do_not_change_after_torchmetrics_is_imported() -> None:
    import torchmetrics  # noqa: F401

    finders = list(sys.meta_path)
    hide_unused_packages()
    assert sys.meta_path == finders
