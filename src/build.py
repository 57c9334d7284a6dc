"""Create objects from the configuration; no other module does."""

import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from src.checkpoint import Card, load_checkpoint
from src.config.mistakes import did_you_mean, nearest
from src.config.targets import TRUSTED_IN_CHECKPOINTS
from src.config.validation import require_allowed_objects, validate_config
from src.data.codec import Codec
from src.errors import UserError
from src.models.classifier import Classifier
from src.models.encoder.pretrained import PretrainedEncoder
from src.models.loss import Loss
from src.models.position.rotary import Rotary
from src.models.shapes import name_of
from src.optim.adagrad import Adagrad
from src.optim.parameter_groups import parameter_groups

if TYPE_CHECKING:  # Lightning takes seconds to import: only what trains or evaluates waits for it
    import pytorch_lightning as pl
    from pytorch_lightning.loggers import Logger

    from src.data.datamodule import TextDataModule
    from src.lit import LitClassifier

log = logging.getLogger(__name__)
TOO_LARGE = re.compile(r"overflow|too large|invalid.*(size|dimension)|out of memory|allocate memory", re.IGNORECASE)


def make(cfg: DictConfig, key: str, *args: Any, **kwargs: Any) -> Any:
    """Create the object of the node `cfg.<key>`, with positional arguments from the run.

    Raises:
        UserError: if its constructor rejects an option, with the option's dotted path at the start of the message; or
            if the class of the object, or of one within it, is not allowed at its place.
    """
    require_allowed_objects(cfg, key)
    with prefix_errors(key):
        return instantiate(OmegaConf.select(cfg, key), _partial_=True, _convert_="all")(*args, **kwargs)


@contextmanager
def prefix_errors(key: str) -> Iterator[None]:
    """Prefix errors about options with their dotted path.

    Raises:
        UserError: for a ValueError or a MisconfigurationException, also of a nested component.
    """
    try:
        yield
    except InstantiationException as error:  # of a nested component; the last line has its path
        path = re.search(r"^full_key: (\S+)$", str(error), re.MULTILINE)
        if not isinstance(error.__cause__, (ValueError, UserError)) or path is None:
            raise
        raise UserError(f"{path[1]}: {error.__cause__}") from error
    except Exception as error:
        if isinstance(error, ValueError) or type(error).__name__ == "MisconfigurationException":
            raise UserError(f"{key}: {error}") from error
        raise


def make_all(cfg: DictConfig, group: str) -> list[Any]:
    """Create an object of each node of a group, except nodes set to null."""
    nodes = cfg[group] or {}
    return [make(cfg, f"{group}.{name}") for name in nodes if nodes[name] is not None]


def datamodule(cfg: DictConfig, codec: Codec | None = None) -> "TextDataModule":
    """Create the data module, tokenized and split, with its vocabulary, classes and sizes.

    Args:
        cfg: has `data`.
        codec: codec of a trained model; None trains the tokenizer of the data.
    """
    data: TextDataModule = make(cfg, "data")
    if codec is not None:
        data.use_codec(codec)
    data.prepare_data()
    data.setup("fit")
    return data


def classifier(cfg: DictConfig, vocabulary: Sequence[str], num_logits: int) -> Classifier:
    """Create the components in the order of the data flow; each gets the output size of the one before it.

    Raises:
        UserError: if a component rejects its options, is incompatible with another, or has no `output_dim`.
    """
    embedding = make(cfg, "model.embedding", vocabulary)
    position = make(cfg, "model.position", _output_dim(embedding, "model.embedding"))
    encoder = make(cfg, "model.encoder", _output_dim(position, "model.position"))
    if isinstance(encoder, PretrainedEncoder):
        with prefix_errors("model.encoder"):
            encoder.require(embedding)
    attention = make(cfg, "model.attention", _output_dim(encoder, "model.encoder"))
    if isinstance(position, Rotary):
        with prefix_errors("model.position"):
            position.attach(encoder, attention)
    pooling = make(cfg, "model.pooling", _output_dim(attention, "model.attention"))
    head = make(cfg, "model.head", _output_dim(pooling, "model.pooling"), num_logits)
    return Classifier(embedding, position, encoder, attention, pooling, head)


def _output_dim(component: object, key: str) -> int:
    dim = getattr(component, "output_dim", None)
    if not isinstance(dim, int):
        raise UserError(
            f"{key}: {name_of(component)} must set self.output_dim to the number of features that it returns, an "
            f"integer; it is {dim!r}"
        )
    return dim


def optimizer(cfg: DictConfig, model: Classifier) -> torch.optim.Optimizer:
    """Create the optimizer of all trained parameters, with the options of `param_groups` for single components."""
    param_groups = {part: options or {} for part, options in (cfg.param_groups or {}).items()}  # null sets no options
    with prefix_errors("param_groups"):
        groups = parameter_groups(model, param_groups)
    unfused = {"fused": False} if cfg.optimizer.get("fused") and _clips_in_mixed_precision(cfg) else {}
    created = make(cfg, "optimizer", groups, **unfused)
    for part, options in param_groups.items():
        require_options(options, created, f"param_groups.{part}")
    if any(getattr(module, "sparse", False) for module in model.modules()):
        _require_sparse(created, cfg)
    return created


def require_options(options: Mapping[str, Any], optimizer: torch.optim.Optimizer, path: str) -> None:
    """Check the option names of a parameter group; torch silently ignores unknown names.

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


def _clips_in_mixed_precision(cfg: DictConfig) -> bool:
    """Whether gradients are clipped in mixed precision; Lightning cannot do so with a fused optimizer."""
    return cfg.trainer.get("gradient_clip_val") is not None and "mixed" in str(cfg.trainer.get("precision"))


def _require_sparse(optimizer: torch.optim.Optimizer, cfg: DictConfig) -> None:
    """Check that the optimizer and the trainer support row-sparse gradients.

    Raises:
        UserError: if they do not.
    """
    dense = "or set model.embedding.sparse=false"
    if not isinstance(optimizer, (Adagrad, torch.optim.SGD)):
        name = type(optimizer).__name__
        raise UserError(f"optimizer: {name} does not support row-sparse gradients; choose optimizer=adagrad {dense}")
    if any(group["weight_decay"] for group in optimizer.param_groups):
        raise UserError(f"weight_decay: row-sparse gradients do not support it; set it to 0, {dense}")
    if cfg.trainer.get("gradient_clip_val") is not None:
        raise UserError(f"trainer.gradient_clip_val: row-sparse gradients cannot be clipped; set it to null, {dense}")


def scheduler(cfg: DictConfig, optimizer: torch.optim.Optimizer, steps: int) -> dict[str, Any] | None:
    """Create Lightning's scheduler config; a scheduler that steps every batch gets the number of steps."""
    if "_target_" not in cfg.scheduler:
        return None
    name = cfg.scheduler._target_.rpartition(".")[2]
    by_step: dict[str, Any] = {}
    if name == "OneCycleLR":
        by_step = {"max_lr": [group["lr"] for group in optimizer.param_groups], "total_steps": steps}
    elif name == "LinearLR":
        by_step = {"total_iters": steps}
    created = make(cfg, "scheduler", optimizer, **by_step)
    if by_step:
        return {"scheduler": created, "interval": "step"}
    return {"scheduler": created, "interval": "epoch", "reduce_on_plateau": False}  # LitClassifier steps it


def untrained_model(cfg: DictConfig, card: Card) -> tuple[Classifier, Loss]:
    """Create an untrained model and its loss, for the vocabulary and the classes of the card."""
    loss: Loss = make(cfg, "loss", card.class_counts)
    return classifier(cfg, card.codec.tokenizer.vocabulary, loss.num_logits), loss


def module(cfg: DictConfig, card: Card, model_and_loss: tuple[Classifier, Loss] | None = None) -> "LitClassifier":
    """Create the LightningModule of a model and its loss, by default new ones."""
    from src.lit import LitClassifier

    model, loss = model_and_loss or untrained_model(cfg, card)
    return LitClassifier(
        model,
        loss,
        len(card.class_counts),
        partial(optimizer, cfg),
        partial(scheduler, cfg),
        card.with_options(model.description_options()).to_dict(),
    )


def restore(path: str, extras: DictConfig) -> tuple[Card, tuple[Classifier, Loss]]:
    """Restore the card, the trained model and its loss from a checkpoint.

    Args:
        path: path of the checkpoint.
        extras: those of the command, because a file must not choose the modules to trust.

    Raises:
        UserError: if the file is not a checkpoint of Heed, or names classes that are not trusted.
    """
    card, weights = load_checkpoint(path)
    cfg = card.cfg
    cfg.extras = extras
    validate_config(
        OmegaConf.create({"model": cfg.model, "loss": cfg.loss, "extras": extras}), trusted=TRUSTED_IN_CHECKPOINTS
    )
    _require_same_sizes(cfg, card, weights, path)
    model, loss = untrained_model(cfg, card)
    load_weights(torch.nn.ModuleDict({"model": model, "loss": loss}), weights, path)
    return card, (model, loss)


def _require_same_sizes(cfg: DictConfig, card: Card, weights: dict[str, torch.Tensor], path: str) -> None:
    """Compare the sizes of model and weights on the meta device, before a hostile card can ask for memory.

    Raises:
        UserError: if they differ.
    """
    try:
        with torch.device("meta"), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, that nothing is copied to the meta device
            model, loss = untrained_model(cfg, card)
            load_weights(torch.nn.ModuleDict({"model": model, "loss": loss}), weights, path)
    except UserError:
        raise
    except Exception as error:
        if TOO_LARGE.search(str(error)):
            raise UserError(f"{path}: its configuration names sizes that its weights do not have") from error
        log.debug("The sizes cannot be compared on the meta device: %s", error)  # a component may need numbers


def load_weights(module: torch.nn.Module, weights: dict[str, torch.Tensor], path: str) -> None:
    """Load a checkpoint's weights into a module.

    Raises:
        UserError: if sizes, types or components differ.
    """
    _require_types(module, weights, path)
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        first = "; ".join(line.strip() for line in str(error).splitlines()[1:4])
        raise UserError(f"{path}: its weights do not fit this model: {first}") from error


def _require_types(module: torch.nn.Module, weights: Mapping[str, torch.Tensor], path: str) -> None:
    """Check the types of weights; torch silently converts them, such as 0.7 to 0 for integers.

    Raises:
        UserError: if types differ, unless both are floating point.
    """
    for name, expected in module.state_dict().items():
        other = weights.get(name, expected)
        if expected.dtype != other.dtype and not (expected.is_floating_point() and other.is_floating_point()):
            raise UserError(
                f"{path}: its weights do not fit this model: type mismatch for {name}: "
                f"{other.dtype} in the checkpoint, {expected.dtype} in the model"
            )


def loggers(cfg: DictConfig) -> "list[Logger]":
    """Create the configured loggers."""
    return make_all(cfg, "logger")


def trainer(cfg: DictConfig, watchers: "Sequence[pl.Callback]" = (), loggers: "Sequence[Logger]" = ()) -> "pl.Trainer":
    """Create the Trainer with the configured callbacks, and with the watchers and loggers of the run."""
    from lightning_fabric.plugins import TorchCheckpointIO
    from pytorch_lightning.callbacks import Checkpoint, ModelSummary, ProgressBar

    from src.lit import ValidatedCheckpointIO

    callbacks = make_all(cfg, "callbacks")

    def has(kind: type) -> bool:
        return any(isinstance(callback, kind) for callback in callbacks)

    trainer: pl.Trainer = make(
        cfg,
        "trainer",
        callbacks=[*watchers, *callbacks],
        logger=list(loggers) or False,
        enable_checkpointing=has(Checkpoint),
        enable_progress_bar=has(ProgressBar),
        enable_model_summary=has(ModelSummary),
    )
    if type(trainer.strategy.checkpoint_io) is TorchCheckpointIO:  # no other plugin is configured
        trainer.strategy.checkpoint_io = ValidatedCheckpointIO()
    return trainer
