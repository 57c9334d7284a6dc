"""Keras with its torch backend, a reference for tests."""

import importlib
import os
import sys
import warnings
from typing import Any


def keras() -> Any:
    os.environ["KERAS_BACKEND"] = "torch"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from Keras, at import
        module = importlib.import_module("keras")
    # absl's handler stores sys.stderr at import, which is pytest's stream, and closes it when Hydra configures logging.
    importlib.import_module("absl.logging").get_absl_handler().python_handler.stream = sys.__stderr__
    return module
