"""Create single objects from nodes of the configuration."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from src.config.targets import find_class
from src.config.validation import require_allowed_objects, trusted_modules
from src.errors import UserError
from src.extras import MissingExtra


def make(cfg: DictConfig, key: str, *args: Any, **kwargs: Any) -> Any:
    """Create the object that the node `cfg.<key>` describes, with `args` and `kwargs` as further arguments.

    Raises:
        UserError: if the constructor rejects an option, or if the class of the object or of a nested object is not
            allowed at its place; the message starts with a dotted path.
    """
    require_allowed_objects(cfg, key)
    with prefix_errors(key):
        return instantiate(OmegaConf.select(cfg, key), _partial_=True, _convert_="all")(*args, **kwargs)


def make_all(cfg: DictConfig, group: str) -> list[Any]:
    """Create the objects that the nodes of a group describe; nodes that are null are skipped."""
    nodes = cfg[group] or {}
    return [make(cfg, f"{group}.{name}") for name in nodes if nodes[name] is not None]


def class_at(cfg: DictConfig, key: str) -> type | None:
    """Return the class of the object that `make` would create; None if the node names no trusted class."""
    target = OmegaConf.select(cfg, f"{key}._target_", throw_on_missing=False)
    try:
        return find_class(target, trusted_modules(cfg))
    except ValueError:
        return None


@contextmanager
def prefix_errors(key: str) -> Iterator[None]:
    """Convert errors about options to a `UserError` whose message starts with the dotted path of a component.

    Raises:
        UserError: for a ValueError (also of a nested component), for a MisconfigurationException, and for an
            ImportError, because an option may need a package that is not installed.
    """
    try:
        yield
    except InstantiationException as error:  # from a nested component; the message contains the component's path
        path = re.search(r"^full_key: (\S+)$", str(error), re.MULTILINE)
        if not isinstance(error.__cause__, (ValueError, UserError)) or path is None:
            raise
        raise UserError(f"{path[1]}: {error.__cause__}") from error
    except ValueError as error:
        raise UserError(f"{key}: {error}") from error
    except ImportError as error:
        remedy = "" if isinstance(error, MissingExtra) else "; install this package, or choose another option"
        raise UserError(f"{key}: {error}{remedy}") from error
    except Exception as error:
        from lightning_fabric.utilities.exceptions import MisconfigurationException  # the import takes seconds

        if not isinstance(error, MisconfigurationException):
            raise
        raise UserError(f"{key}: {error}") from error
