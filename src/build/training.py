"""Create the data, optimizer, scheduler, loggers and Trainer of a run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig
from torch.optim import Optimizer

from src.build.objects import class_at, make, make_all, prefix_errors
from src.data.codec import Codec
from src.errors import UserError
from src.misspellings import did_you_mean, nearest
from src.models.classifier import Classifier
from src.optim.parameter_groups import parameter_groups
from src.optim.schedulers import step_options
from src.optim.sparse import has_sparse_gradients, require_sparse_support

if TYPE_CHECKING:  # importing Lightning takes seconds; only training and evaluation need it
    import pytorch_lightning as pl
    from pytorch_lightning.loggers import Logger

    from src.data.datamodule import TextDataModule


def datamodule(cfg: DictConfig, codec: Codec | None = None) -> "TextDataModule":
    """Create the data module, and tokenize and split its texts, so that vocabulary, classes and sizes are known.

    Args:
        codec: codec of a trained model; None uses the tokenizer that `data` configures.
    """
    data: TextDataModule = make(cfg, "data")
    if codec is not None:
        data.use_codec(codec)
    data.prepare_data()
    data.setup("fit")
    return data


def optimizer(cfg: DictConfig, model: Classifier) -> Optimizer:
    """Create the optimizer of all trained parameters; `cfg.param_groups` overrides its options for single components.

    Raises:
        UserError: if an option is invalid, or the optimizer does not support the model's sparse gradients.
    """
    param_groups = {name: options or {} for name, options in (cfg.param_groups or {}).items()}  # null: no options
    with prefix_errors("param_groups"):
        groups = parameter_groups(model, param_groups)
    clips_gradients = cfg.trainer.get("gradient_clip_val") is not None
    unfused = {}
    if cfg.optimizer.get("fused") and clips_gradients and "mixed" in str(cfg.trainer.get("precision")):
        unfused = {"fused": False}  # Lightning cannot clip gradients in mixed precision for a fused optimizer
    created: Optimizer = make(cfg, "optimizer", groups, **unfused)
    for name, options in param_groups.items():
        require_options(options, created, f"param_groups.{name}")
    if has_sparse_gradients(model):
        require_sparse_support(created, clips_gradients)
    return created


def require_options(options: Mapping[str, Any], optimizer: Optimizer, path: str) -> None:
    """Check the names of the options of a parameter group, because torch silently ignores unknown names.

    Raises:
        UserError: if a name is unknown.
    """
    known = list(optimizer.defaults)
    for name in map(str, options):
        if name not in known:
            raise UserError(
                f"{path}.{name}: {type(optimizer).__name__} has no such option"
                f"{did_you_mean(nearest(name, known))} ({', '.join(known)})"
            )


def scheduler(cfg: DictConfig, optimizer: Optimizer, steps: int) -> dict[str, Any] | None:
    """Return Lightning's scheduler config; None if no scheduler is configured.

    Args:
        steps: number of optimizer steps of the whole training, for schedulers that advance after every such step.
    """
    if "_target_" not in cfg.scheduler:
        return None
    options = step_options(class_at(cfg, "scheduler"), optimizer, steps)
    created = make(cfg, "scheduler", optimizer, **options)
    if options:
        return {"scheduler": created, "interval": "step"}
    # LitClassifier, not Lightning, steps a plateau scheduler
    return {"scheduler": created, "interval": "epoch", "reduce_on_plateau": False}


def loggers(cfg: DictConfig) -> "list[Logger]":
    """Create the configured loggers."""
    return make_all(cfg, "logger")


def trainer(cfg: DictConfig, watchers: "Sequence[pl.Callback]" = (), loggers: "Sequence[Logger]" = ()) -> "pl.Trainer":
    """Create the Trainer with the configured callbacks, and disable the callbacks that Lightning would add by default.

    Args:
        watchers: callbacks that precede the configured callbacks.
    """
    from pytorch_lightning.callbacks import Checkpoint, ModelSummary, ProgressBar

    callbacks = make_all(cfg, "callbacks")
    kinds = {
        "enable_checkpointing": Checkpoint,
        "enable_progress_bar": ProgressBar,
        "enable_model_summary": ModelSummary,
    }
    enabled = {option: any(isinstance(callback, kind) for callback in callbacks) for option, kind in kinds.items()}
    trainer: pl.Trainer = make(
        cfg, "trainer", callbacks=[*watchers, *callbacks], logger=list(loggers) or False, **enabled
    )
    return trainer
