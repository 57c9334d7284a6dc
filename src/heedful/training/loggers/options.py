"""Log the options of a run, under names that all loggers accept."""

import json
import re
from collections.abc import Iterable
from typing import Any

from pytorch_lightning.loggers import Logger

from heedful.training.build import prefix_errors


def log_options(loggers: Iterable[Logger], config: Any) -> None:
    """Log a configuration; an error of a server or a database is a UserError."""
    for logger in loggers:
        with prefix_errors(f"logger.{type(logger).__name__}"):
            logger.log_hyperparams(with_plain_names(config))


def with_plain_names(config: Any) -> Any:
    """Return a configuration in which a mapping is a text if its keys, such as C++, cannot be parts of names.

    Loggers make names of the keys, and MLflow allows few characters in a name, and 250 in all.
    """
    if not isinstance(config, dict):
        return config
    if all(re.fullmatch(r"[\w.-]{1,50}", str(key), re.ASCII) for key in config):
        return {key: with_plain_names(value) for key, value in config.items()}
    return json.dumps(config, ensure_ascii=False)
