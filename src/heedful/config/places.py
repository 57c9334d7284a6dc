"""The places where a configuration may create an object, the kind of object that each accepts, and trusted classes."""

import inspect
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, NamedTuple, get_args, get_origin, is_typeddict

from heedful.base.formatting import format_names
from heedful.config.mistakes import did_you_mean

TRUSTED = frozenset(
    {
        "heedful",
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
TRUSTED_IN_CHECKPOINTS = frozenset({"heedful.models", "heedful.data.tokenizer", "heedful.data.source"})
TRUSTED_OPTIMIZERS = frozenset({"heedful.training.optim", "torch.optim"})  # of a checkpoint that is trained further


class Place(NamedTuple):
    """A node of the configuration that creates an object.

    Args:
        base: dotted path of a class; `_target_` must name this class or a subclass.
        positional: number of leading positional parameters that training/build.py passes.
        keywords: parameters that training/build.py passes by name, or, by the name of a class, those for its objects;
            a string is the attribute of the class that lists them.
        refused: by the name of a class, why neither it nor a subclass may be there.
    """

    base: str
    positional: int = 0
    keywords: tuple[str, ...] | Mapping[str, tuple[str, ...]] | str = ()
    refused: Mapping[str, str] = MappingProxyType({})

    @property
    def base_class(self) -> type:
        module, _, name = self.base.rpartition(".")
        return resolve_name(f"{module}:{name}")  # without the colon, it hides why a module cannot be imported

    def passed_to(self, cls: type) -> tuple[str, ...]:
        """Return the parameters that training/build.py passes to the constructor of `cls` by name."""
        if isinstance(self.keywords, str):
            return tuple(getattr(cls, self.keywords))
        if not isinstance(self.keywords, Mapping):
            return self.keywords
        return next((self.keywords[base.__name__] for base in cls.__mro__ if base.__name__ in self.keywords), ())


# Schedulers that advance after every optimizer step, and the options that depend on the number of steps
STEPS = {"OneCycleLR": ("max_lr", "total_steps"), "LinearLR": ("total_iters",)}
REFUSED_CALLBACKS = {
    "StochasticWeightAveraging": "averages weights after the training, so best.ckpt and the test would use others: "
    "use WeightAveraging or EMAWeightAveraging",
    "ModelPruning": "renames the weights, so best.ckpt could not be loaded for the test: remove it",
    "BackboneFinetuning": "freezes all of the backbone again when a training resumes: remove it",
}
TRAINER_KEYWORDS = ("callbacks", "logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
DEFAULT_TASK = "heedful.tasks.multiclass.Multiclass"  # where a configuration has no task
PLACES = {
    "data": Place("heedful.data.source.Source"),
    "task": Place("heedful.tasks.task.Task", keywords="state_names"),
    "model.embedding": Place("heedful.models.component.Embedding", positional=1),
    "model.position": Place("heedful.models.component.Position", positional=1),
    "model.encoder": Place("heedful.models.component.Encoder", positional=1),
    "model.attention": Place("heedful.models.component.Attention", positional=1),
    "model.sublayer": Place("heedful.models.sublayer.AttentionSublayer", positional=2),
    "model.normalizer": Place("heedful.models.normalizer.Normalizer"),
    "model.pooling": Place("heedful.models.component.Pooling", positional=1),
    "model.head": Place("heedful.models.component.Head", positional=2),
    "model.branch": Place("heedful.models.branch.NgramBranch", positional=2),
    "loss": Place("heedful.models.loss.Loss", positional=1),
    "optimizer": Place("torch.optim.Optimizer", positional=1),
    "scheduler": Place("torch.optim.lr_scheduler.LRScheduler", positional=1, keywords=STEPS),
    "trainer": Place("pytorch_lightning.Trainer", keywords=TRAINER_KEYWORDS),
    "metrics.*": Place("torchmetrics.Metric", keywords=("task", "num_classes", "of")),
    "callbacks.*": Place("pytorch_lightning.Callback", refused=REFUSED_CALLBACKS),
    "logger.*": Place("pytorch_lightning.loggers.Logger"),
}


def place_at(path: str) -> Place | None:
    """Return the place at a dotted path; None if `PLACES` does not list it."""
    group, _, _ = path.rpartition(".")
    return PLACES.get(path) or PLACES.get(f"{group}.*")


PLAIN_MODULES = frozenset({"builtins", "typing", "abc", "collections", "pathlib", "os", "numbers", "numpy", "datetime"})


@cache
def accepted_classes(hint: Any) -> tuple[type, ...]:
    """Return the classes of the objects that an option accepts according to its annotation; none for plain values.

    The classes in a union, in a list type or in the values of a mapping type are included.
    """
    if (origin := get_origin(hint)) is not None:
        arguments = () if origin in (type, Callable) else get_args(hint)
        return tuple(dict.fromkeys(cls for argument in arguments for cls in accepted_classes(argument)))
    if not isinstance(hint, type) or hint.__module__.split(".")[0] in PLAIN_MODULES or hint.__name__ == "Tensor":
        return ()
    return () if is_typeddict(hint) or issubclass(hint, Enum) else (hint,)


def find_class(target: object, trusted: Collection[str]) -> type:
    """Import the class with the dotted path `target`; a module outside `trusted` is never imported.

    A ValueError says why `target` is not a trusted class.
    """
    module, _, name = str(target).rpartition(".")
    if not module or not all(part.isidentifier() for part in str(target).split(".")):
        raise ValueError("must be the dotted path of a class, such as torch.optim.Adam")
    _require_trust(str(target), trusted)
    try:
        found = getattr(import_module(module), name)
    except ModuleNotFoundError as error:  # the module, a module that it imports, or an extra of Heedful
        raise ValueError(f"cannot be imported: {error}") from error
    except AttributeError:
        classes = [other for other, value in vars(import_module(module)).items() if isinstance(value, type)]
        raise ValueError(f"{module} has no {name}{did_you_mean(name, classes)}") from None
    if not isinstance(found, type):
        raise ValueError("is not a class: write the dotted path of a class")
    _require_trust(f"{found.__module__}.{found.__qualname__}", trusted)
    return found


def object_class(target: object, path: str, trusted: Collection[str], bases: Collection[type]) -> type:
    """Import the class of the object at a dotted path, as `find_class` does, if an object of this kind may be there.

    Args:
        bases: the classes that the option accepts, if `path` is none of the places.
    """
    if place := place_at(path):
        bases = [place.base_class]
    if not bases:
        raise ValueError("cannot be an object: write a plain value")
    cls = find_class(target, trusted)
    names = format_names(f"{base.__module__}.{base.__qualname__}" for base in bases)
    if not issubclass(cls, tuple(bases)):
        raise ValueError(f"is not a subclass of {names}, which is required here")
    if place and (reasons := [place.refused[base.__name__] for base in cls.__mro__ if base.__name__ in place.refused]):
        raise ValueError(reasons[0])
    if inspect.isabstract(cls):
        raise ValueError(f"is abstract: implement {', '.join(sorted(getattr(cls, '__abstractmethods__', ())))}")
    return cls


def _require_trust(path: str, trusted: Collection[str]) -> None:
    if any(path.startswith(f"{module}.") or path == module for module in trusted):
        return
    top = path.split(".")[0]
    if allowed := sorted(module for module in trusted if module.startswith(f"{top}.")):
        raise ValueError(f"is outside the modules that are allowed here ({', '.join(allowed)})")
    remedy = did_you_mean(top, trusted) or f"; if you trust it, write extras.trusted_modules=[{top}]"
    raise ValueError(f"{top} is not a trusted module{remedy}")
