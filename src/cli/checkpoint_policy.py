"""Limits on the configuration in a checkpoint, which may come from another person.

The configuration may choose among the config files of this installation and set plain options. It must not name an
untrusted class, or a path outside the run's folder to which the run would write. The options in
`src.config.keys.LOCAL` are not taken from a checkpoint.
"""

import os
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from src.config.keys import paths_in
from src.config.mistakes import Mistake
from src.config.places import TRUSTED_IN_CHECKPOINTS, find_class
from src.formatting import format_value

PATH_ENDS = ("path", "dir", "folder", "file", "pictures")  # ends of the names of options that contain a path
SOURCES = ("data", "model")  # nodes whose paths are only read; paths in other nodes may be written to
# Modules whose classes a checkpoint may name in place of the classes in the config files
TRUSTED_TO_RESUME = TRUSTED_IN_CHECKPOINTS | {
    "src.callbacks",
    "src.optim",
    "torch.optim",
    "torchmetrics.classification",
}


def policy_mistakes(options: Mapping[str, Any], folder: str, trusted: Set[str]) -> Iterator[Mistake]:
    """Find the values that a checkpoint or a sweep.json must not set.

    Args:
        options: plain values by dotted path.
        folder: folder of the run or sweep.
        trusted: modules whose classes are allowed.
    """
    for option, value in options.items():
        for path, item in paths_in(value, option).items():
            top, name = path.split(".")[0], path.rpartition(".")[2]
            if name == "_target_":
                try:
                    find_class(item, trusted)
                except ValueError as error:
                    yield Mistake(f"{path}={format_value(item)}", str(error))
            elif (
                isinstance(item, str)
                and name.endswith(PATH_ENDS)
                and top not in SOURCES
                and not _is_inside(item, folder)
            ):
                message = "is a path outside the run's folder: repeat it on the command line if you trust it"
                yield Mistake(f"{path}={format_value(item)}", message)


def _is_inside(path: str, folder: str) -> bool:
    """Return whether a path is `folder` or lies below it, after symbolic links are resolved."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
