"""Keras with its torch backend, a reference for tests."""

import importlib
import os
import sys
import warnings
from typing import Any


def keras() -> Any:
    os.environ["KERAS_BACKEND"] = "torch"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras' own, at import
        module = importlib.import_module("keras")
    # Its logging closes the stream that stderr was at import, pytest's own, once Hydra sets up logging anew.
    importlib.import_module("absl.logging").get_absl_handler().python_handler.stream = sys.__stderr__
    return module
