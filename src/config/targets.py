"""Finding the class that a `_target_` names, without running anything that is not trusted."""

from collections.abc import Collection, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from src.config.mistakes import did_you_mean, nearest
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
HYDRAS = frozenset({"hydra", "hydra_plugins", "logging", "colorlog"})  # only in Hydra's own part


def find(target: object, trusted: Collection[str]) -> type:
    """The class with the dotted path `target`; a module outside `trusted` is never imported.

    Raises:
        ValueError: if it is not a trusted class, with the reason and, for a slip, the nearest right name.
    """
    if not isinstance(target, str) or "" in (names := target.split(".")):
        raise ValueError("must be the dotted path of a class, such as torch.optim.Adam")
    _require_trust(names[0], trusted)
    found = _import(names)
    if not isinstance(found, type):
        raise ValueError("is not a class; only classes may be targets")
    _require_trust(found.__module__.split(".")[0], trusted)
    return found


def foreign(node: Any, path: str, trusted: Collection[str]) -> Iterator[tuple[str, str]]:
    """What Hydra's own part would run outside `trusted`: plugins, callbacks and the handlers of its logs.

    Yields its place, written as `path.of.it=name`, and what to do; nothing is imported.
    """
    for key, value in node.items() if isinstance(node, dict) else ():
        if key in ("_target_", "class", "()"):
            try:
                _require_trust(str(value).split(".")[0], {*trusted, *HYDRAS})
            except ValueError as error:
                yield f"{path}.{key}={value}", str(error)
        yield from foreign(value, f"{path}.{key}", trusted)


def _require_trust(module: str, trusted: Collection[str]) -> None:
    if module not in trusted:
        slip = did_you_mean(nearest(module, trusted, at_least=0.7))
        yours = f"; if you trust it, write extras.trusted_modules=[{module}]"
        raise ValueError(f"{module} is not a trusted module{slip or yours}")


def _import(names: list[str]) -> Any:
    found: Any = _module(names[0])
    if found is None:
        raise ValueError(f"there is no module {names[0]}")
    for i, name in enumerate(names[1:], start=1):
        here = ".".join(names[:i])
        if not hasattr(found, name) and (not isinstance(found, ModuleType) or _module(f"{here}.{name}") is None):
            meant = [f"{here}.{other}" for other in nearest(name, _within(found))]
            raise ValueError(f"{here} has no {name}{did_you_mean(meant)}")
        found = getattr(found, name)
    return found


def _module(path: str) -> ModuleType | None:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name == path or error.name == path.rpartition(".")[0]:
            return None
        if isinstance(error, UserError):  # it says which extra to install
            raise ValueError(str(error)) from error
        raise ValueError(f"{path} needs the module {error.name}, which is not installed") from error


def _within(owner: Any) -> list[str]:
    """The classes and modules that may have been meant in a module."""
    inside = [name for name, value in vars(owner).items() if isinstance(value, (type, ModuleType))]
    return inside + [module.name for module in iter_modules(getattr(owner, "__path__", []))]
