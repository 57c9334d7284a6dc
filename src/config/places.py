"""The nodes of a configuration that create objects: required base classes, and arguments that the program passes."""

import typing
from collections.abc import Collection, Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from src.config.values import LISTS, MAPS

PLAIN_MODULES = frozenset({"builtins", "typing", "abc", "collections", "collections.abc", "pathlib", "os", "numbers"})


class Place(NamedTuple):
    """A node of the configuration that creates an object.

    Args:
        base: dotted path of a class; `_target_` must name this class or a subclass.
        positional: number of leading positional parameters that src/build passes.
        keywords: parameters that src/build passes by name.
        module: a module, such as torchmetrics.classification; other modules of the same package are then not allowed.
    """

    base: str
    positional: int = 0
    keywords: tuple[str, ...] = ()
    module: str = ""

    def allowed(self, trusted: Collection[str]) -> Collection[str]:
        """Return the modules whose classes are allowed here: `trusted`, with `module` in place of its package."""
        return {self.module if self.module.startswith(f"{name}.") else name for name in trusted}

    @property
    def base_class(self) -> type:
        module, _, name = self.base.rpartition(".")
        return getattr(import_module(module), name)


TRAINER_KEYWORDS = ("callbacks", "logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
PLACES = {
    "data": Place("src.data.datamodule.TextDataModule"),
    "model.embedding": Place("src.models.component.Embedding", positional=1),
    "model.position": Place("src.models.component.Position", positional=1),
    "model.encoder": Place("src.models.component.Encoder", positional=1),
    "model.attention": Place("src.models.component.Attention", positional=1),
    "model.sublayer": Place("src.models.sublayer.AttentionSublayer", positional=2),
    "model.pooling": Place("src.models.component.Pooling", positional=1),
    "model.head": Place("src.models.component.Head", positional=2),
    "loss": Place("src.models.loss.Loss", positional=1),
    "optimizer": Place("torch.optim.Optimizer", positional=1),
    "scheduler": Place("torch.optim.lr_scheduler.LRScheduler", positional=1, keywords=("max_lr", "total_steps")),
    "trainer": Place("pytorch_lightning.Trainer", keywords=TRAINER_KEYWORDS),
    "metrics.*": Place("torchmetrics.Metric", keywords=("task", "num_classes"), module="torchmetrics.classification"),
    "callbacks.*": Place("pytorch_lightning.Callback"),
    "logger.*": Place("pytorch_lightning.loggers.Logger"),
    "hydra.launcher": Place("hydra.plugins.launcher.Launcher"),
    "hydra.sweeper": Place("hydra.plugins.sweeper.Sweeper"),
    "hydra.callbacks.*": Place("hydra.experimental.callback.Callback"),
}


def place_at(path: str) -> Place | None:
    """Return the place at a dotted path; None if `PLACES` does not list it."""
    group, _, _ = path.rpartition(".")
    return PLACES.get(path) or PLACES.get(f"{group}.*")


@cache
def accepted_classes(hint: Any) -> tuple[type, ...]:
    """Return the classes of the objects that an option accepts according to its annotation; none for plain values.

    The classes in a union, in a list type or in the values of a mapping type are included; `Any`, callables, numbers,
    strings, enums and tensors are left out.
    """
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType) or origin in LISTS:
        return tuple(dict.fromkeys(cls for argument in arguments for cls in accepted_classes(argument)))
    if origin is Annotated:
        return accepted_classes(arguments[0])
    if origin in MAPS or origin is Mapping:
        return accepted_classes(arguments[1]) if len(arguments) == 2 else ()
    if not isinstance(origin, type) or typing.is_typeddict(origin) or issubclass(origin, Enum):
        return ()
    is_plain = origin.__module__ in PLAIN_MODULES or origin.__module__.split(".")[0] in ("numpy", "datetime")
    return () if is_plain or origin.__name__ == "Tensor" else (origin,)
