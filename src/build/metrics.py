"""Create the metrics of validation and test."""

import warnings
from typing import TYPE_CHECKING, Any

import torch
from omegaconf import DictConfig, OmegaConf

from src.build.objects import class_at, make
from src.config.metrics import metric_nodes
from src.config.options import of_class
from src.config.plain import plain_values
from src.errors import UserError

if TYPE_CHECKING:
    from torchmetrics import Metric, MetricCollection

# Groups of metrics that torchmetrics computes from the same counts
SHARED = (("balanced_acc", "mcc"), ("precision_macro", "recall_macro", "f1_macro"))


def metrics(cfg: DictConfig, num_classes: int) -> "MetricCollection":
    """Create the metrics of `cfg.metrics`, or the default metrics if the configuration lacks this group.

    Raises:
        UserError: for the same reasons as `metric`.
    """
    from torchmetrics import MetricCollection

    nodes = metric_nodes(plain_values(cfg))
    cfg = OmegaConf.merge(cfg, {"metrics": nodes})  # type: ignore[assignment]
    created = {name: metric(cfg, name, num_classes) for name in nodes}
    shared = [[name for name in group if name in created] for group in SHARED]
    alone = [[name] for name in created if not any(name in group for group in shared)]
    return MetricCollection(dict(created), compute_groups=[group for group in shared if group] + alone)


def metric(cfg: DictConfig, name: str, num_classes: int) -> "Metric":
    """Create the metric `cfg.metrics.<name>`: probabilities N×C and labels N → a single number.

    Raises:
        UserError: if the class is not allowed, rejects an option, or expects several labels per text or another number
            of classes; or if the metric rejects the probabilities and labels or does not return a single number.
    """
    from torchmetrics.wrappers import LambdaInputTransformer

    key = f"metrics.{name}"
    cls = class_at(cfg, key)
    accepted = of_class(cls).options if cls is not None else {}
    passed = {"task": "multiclass", "num_classes": num_classes}
    created: Metric = make(cfg, key, **{option: value for option, value in passed.items() if option in accepted})
    kind = " ".join(base.__name__ for base in type(created).__mro__)
    if "Multilabel" in kind:
        raise UserError(f"{key}: {type(created).__name__} expects several labels per text: use a Multiclass metric")
    if "Binary" in kind:
        if num_classes != 2:
            raise UserError(f"{key}: {type(created).__name__} requires two classes, but the data have {num_classes}")
        created = LambdaInputTransformer(created, second_column)
    _require_single_number(created, key, num_classes)
    return created


def second_column(probabilities: torch.Tensor) -> torch.Tensor:
    """Return the probability of class 1: N×2 → N."""
    return probabilities[:, 1]


def _require_single_number(metric: "Metric", key: str, num_classes: int) -> None:
    probabilities = 0.5 * torch.eye(num_classes) + 0.5 / num_classes
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric.update(probabilities, torch.arange(num_classes))
            value: Any = metric.compute()
            metric.reset()
    except (ValueError, RuntimeError, TypeError, IndexError, AttributeError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{key}: cannot score probabilities N×{num_classes} and labels N: {first}") from error
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        raise UserError(f"{key}: must return a single number: set an average, such as average=macro")
