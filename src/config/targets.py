"""Import the class that a `_target_` names, from trusted modules only, and check its base class."""

import inspect
from collections.abc import Collection
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from src.errors import UserError
from src.formatting import format_names
from src.misspellings import did_you_mean, nearest

TRUSTED = frozenset(
    {
        "src",
        "torch",
        "pytorch_lightning",
        "lightning_fabric",  # some classes of Lightning are defined in this package
        "torchmetrics",
        "datasets",
        "tokenizers",
        "transformers",
        "wandb",
    }
)
TRUSTED_IN_CHECKPOINTS = frozenset({"src.models", "src.data.tokenizer", "src.data.source"})


def find_class(target: object, trusted: Collection[str]) -> type:
    """Import the class with the dotted path `target`; a module outside `trusted` is never imported.

    Args:
        target: dotted path, such as torch.optim.Adam.
        trusted: modules; their submodules are trusted, too.

    Raises:
        ValueError: if `target` is not a trusted class; the message suggests the nearest valid name.
    """
    if not isinstance(target, str) or "" in (names := target.split(".")):
        raise ValueError("must be the dotted path of a class, such as torch.optim.Adam")
    _require_trust(target, trusted)
    resolved = _import(names)
    if not isinstance(resolved, type):
        raise ValueError("is not a class: write the dotted path of a class")
    _require_trust(f"{resolved.__module__}.{resolved.__qualname__}", trusted)
    return resolved


def find_subclass(target: object, trusted: Collection[str], bases: Collection[type]) -> type:
    """Import a class as `find_class` does, and require a subclass of one of `bases`.

    Raises:
        ValueError: as for `find_class`; also if `bases` is empty, or if the class is abstract or not such a subclass.
    """
    if not bases:
        raise ValueError("cannot be an object: write a plain value")
    cls = find_class(target, trusted)
    names = format_names(f"{base.__module__}.{base.__qualname__}" for base in bases)
    if not issubclass(cls, tuple(bases)):
        raise ValueError(f"is not a subclass of {names}, which is required here")
    if inspect.isabstract(cls):
        raise ValueError(f"is abstract: implement {', '.join(sorted(getattr(cls, '__abstractmethods__', ())))}")
    return cls


def _require_trust(path: str, trusted: Collection[str]) -> None:
    if any(path.startswith(f"{module}.") or path == module for module in trusted):
        return
    top = path.split(".")[0]
    allowed = sorted(module for module in trusted if module.startswith(f"{top}."))
    if allowed:
        raise ValueError(f"is outside the modules that are allowed here ({', '.join(allowed)})")
    suggestion = did_you_mean(nearest(top, trusted, at_least=0.7))
    remedy = f"; if you trust it, write extras.trusted_modules=[{top}]"
    raise ValueError(f"{top} is not a trusted module{suggestion or remedy}")


def _import(names: list[str]) -> Any:
    resolved: Any = _module(names[0])
    if resolved is None:
        raise ValueError(f"no such module: {names[0]}")
    for i, name in enumerate(names[1:], start=1):
        path = ".".join(names[:i])
        if hasattr(resolved, name):
            resolved = getattr(resolved, name)
            continue
        inner = _module(f"{path}.{name}") if isinstance(resolved, ModuleType) else None
        if inner is None:
            suggestions = [f"{path}.{other}" for other in nearest(name, _within(resolved))]
            raise ValueError(f"{path} has no {name}{did_you_mean(suggestions)}")
        resolved = inner
    return resolved


def _module(path: str) -> ModuleType | None:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name == path or error.name == path.rpartition(".")[0]:
            return None
        if isinstance(error, UserError):  # the message of a UserError names the extra to install
            raise ValueError(str(error)) from error
        raise ValueError(f"{path} needs the module {error.name}, which is not installed") from error


def _within(owner: Any) -> list[str]:
    """Return the names of the classes and modules in a module, for suggestions."""
    names = [name for name, value in vars(owner).items() if isinstance(value, (type, ModuleType))]
    return names + [module.name for module in iter_modules(getattr(owner, "__path__", []))]
