"""Keras on its torch backend, a reference for tests alone."""

import importlib
import os
import warnings
from typing import Any


def keras() -> Any:
    os.environ["KERAS_BACKEND"] = "torch"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras' own, at import
        return importlib.import_module("keras")
