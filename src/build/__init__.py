"""Create the objects that the configuration describes; no other package creates them.

`objects` creates single objects, `model` the classifier, `metrics` the metrics, and `training` the data, optimizer,
scheduler, loggers and Trainer; `trained` restores models from checkpoints.
"""

# ruff: noqa: F401  # the functions are called as build.<name>
from src.build.metrics import metric, metrics
from src.build.model import classifier, module, untrained_model
from src.build.objects import make
from src.build.trained import load_weights, restore, restore_ensemble
from src.build.training import datamodule, loggers, optimizer, require_options, scheduler, trainer
