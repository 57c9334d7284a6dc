"""Create the objects that the configuration describes; only this package creates them.

`objects` creates single objects, `model` creates the classifier, `metrics` creates the metrics, `training` creates the
data, optimizer, scheduler, loggers and Trainer, and `trained` restores a model from a checkpoint.
"""

from src.build.metrics import metric, metrics
from src.build.model import classifier, module, untrained_model
from src.build.objects import make
from src.build.trained import load_weights, restore, restore_ensemble
from src.build.training import datamodule, loggers, optimizer, require_options, scheduler, trainer

__all__ = [
    "classifier",
    "datamodule",
    "load_weights",
    "loggers",
    "make",
    "metric",
    "metrics",
    "module",
    "optimizer",
    "require_options",
    "restore",
    "restore_ensemble",
    "scheduler",
    "trainer",
    "untrained_model",
]
