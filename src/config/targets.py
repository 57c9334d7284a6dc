"""The class that a `_target_` names: resolved only in trusted modules, and accepted only where its kind belongs."""

import inspect
from collections.abc import Collection
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from src.config.mistakes import did_you_mean, format_names, nearest
from src.errors import UserError

TRUSTED = frozenset(
    {
        "src",
        "torch",
        "pytorch_lightning",
        "lightning_fabric",  # where some of Lightning's own names lead
        "torchmetrics",
        "datasets",
        "tokenizers",
        "transformers",
        "wandb",
    }
)
TRUSTED_IN_CHECKPOINTS = frozenset({"src.models", "src.data.tokenizer", "src.data.sources"})


def find_class(target: object, trusted: Collection[str]) -> type:
    """The class with the dotted path `target`; a module outside `trusted` is never imported.

    Args:
        target: such as torch.optim.Adam.
        trusted: modules, each with all modules below it.

    Raises:
        ValueError: if it is not a trusted class, with the reason and, for a slip, the nearest right name.
    """
    if not isinstance(target, str) or "" in (names := target.split(".")):
        raise ValueError("must be the dotted path of a class, such as torch.optim.Adam")
    _require_trust(target, trusted)
    resolved = _import(names)
    if not isinstance(resolved, type):
        raise ValueError("is not a class; only classes may be targets")
    _require_trust(f"{resolved.__module__}.{resolved.__qualname__}", trusted)
    return resolved


def find_subclass(target: object, trusted: Collection[str], bases: Collection[type]) -> type:
    """As `find`, for a place that takes subclasses of `bases` only.

    Raises:
        ValueError: as `find`, or because the class is not of this kind.
    """
    if not bases:
        raise ValueError("no object may be created here; write a plain value")
    cls = find_class(target, trusted)
    kinds = format_names(f"{base.__module__}.{base.__qualname__}" for base in bases)
    if not issubclass(cls, tuple(bases)):
        raise ValueError(f"is not a subclass of {kinds}, which this place takes")
    if inspect.isabstract(cls):
        raise ValueError(
            f"is abstract: it does not implement {', '.join(sorted(getattr(cls, '__abstractmethods__', ())))}"
        )
    return cls


def _require_trust(path: str, trusted: Collection[str]) -> None:
    if any(path.startswith(f"{module}.") or path == module for module in trusted):
        return
    top = path.split(".")[0]
    inside = sorted(module for module in trusted if module.startswith(f"{top}."))
    if inside:
        raise ValueError(f"is outside the modules that may be named here ({', '.join(inside)})")
    slip = did_you_mean(nearest(top, trusted, at_least=0.7))
    yours = f"; if you trust it, write extras.trusted_modules=[{top}]"
    raise ValueError(f"{top} is not a trusted module{slip or yours}")


def _import(names: list[str]) -> Any:
    resolved: Any = _module(names[0])
    if resolved is None:
        raise ValueError(f"there is no module {names[0]}")
    for i, name in enumerate(names[1:], start=1):
        here = ".".join(names[:i])
        if hasattr(resolved, name):
            resolved = getattr(resolved, name)
            continue
        inner = _module(f"{here}.{name}") if isinstance(resolved, ModuleType) else None
        if inner is None:
            meant = [f"{here}.{other}" for other in nearest(name, _within(resolved))]
            raise ValueError(f"{here} has no {name}{did_you_mean(meant)}")
        resolved = inner
    return resolved


def _module(path: str) -> ModuleType | None:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name == path or error.name == path.rpartition(".")[0]:
            return None
        if isinstance(error, UserError):  # its message names the extra to install
            raise ValueError(str(error)) from error
        raise ValueError(f"{path} needs the module {error.name}, which is not installed") from error


def _within(owner: Any) -> list[str]:
    """The classes and modules that may have been meant in a module."""
    inside = [name for name, value in vars(owner).items() if isinstance(value, (type, ModuleType))]
    return inside + [module.name for module in iter_modules(getattr(owner, "__path__", []))]
