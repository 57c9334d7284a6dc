"""The only place that makes objects of configuration."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from src.checkpoint import Card, load
from src.config.mistakes import did_you_mean, nearest
from src.config.targets import TRUSTED_IN_CHECKPOINTS
from src.config.validation import check
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


def make(cfg: DictConfig, key: str, *args: Any, **kwargs: Any) -> Any:
    """An object of the node `cfg.<key>`, given positional arguments that only the run knows.

    Raises:
        UserError: if its constructor refuses an option; the message starts with the option's dotted path.
    """
    with named(key):
        return instantiate(OmegaConf.select(cfg, key), _partial_=True, _convert_="all")(*args, **kwargs)


@contextmanager
def named(key: str) -> Iterator[None]:
    """Give what is refused within its dotted path.

    Raises:
        UserError: for a ValueError, for Lightning's own of that kind, and for one of a component within this one.
    """
    try:
        yield
    except InstantiationException as error:  # of a nested component; its path stands on the last line
        path = re.search(r"^full_key: (\S+)$", str(error), re.MULTILINE)
        if not isinstance(error.__cause__, (ValueError, UserError)) or path is None:
            raise
        raise UserError(f"{path[1]}: {error.__cause__}") from error
    except Exception as error:
        if isinstance(error, ValueError) or type(error).__name__ == "MisconfigurationException":
            raise UserError(f"{key}: {error}") from error
        raise


def make_all(cfg: DictConfig, group: str) -> list[Any]:
    """An object of each node of a group; a node that a command set to null makes none."""
    nodes = cfg[group] or {}
    return [make(cfg, f"{group}.{name}") for name in nodes if nodes[name] is not None]


def datamodule(cfg: DictConfig, codec: Codec | None = None) -> "TextDataModule":
    """The data, tokenized and split: vocabulary, classes and sizes are known from here on.

    Args:
        cfg: has `data`.
        codec: of a trained model that is to read the data; None lets the data's own tokenizer learn.
    """
    data: TextDataModule = make(cfg, "data")
    if codec is not None:
        data.use_codec(codec)
    data.prepare_data()
    data.setup("fit")
    return data


def classifier(cfg: DictConfig, vocabulary: Sequence[str], num_logits: int) -> Classifier:
    """Wire the parts in the order of the flow; each is told how many features the one before gives.

    Raises:
        UserError: if a part refuses its options, does not go with another, or has no `output_dim`.
    """
    embedding = make(cfg, "model.embedding", vocabulary)
    position = make(cfg, "model.position", _output_dim(embedding, "model.embedding"))
    encoder = make(cfg, "model.encoder", _output_dim(position, "model.position"))
    if isinstance(encoder, PretrainedEncoder):
        with named("model.encoder"):
            encoder.require(embedding)
    attention = make(cfg, "model.attention", _output_dim(encoder, "model.encoder"))
    if isinstance(position, Rotary):
        with named("model.position"):
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
    """An optimizer over everything that is trained, with the options of `per_part` for single parts."""
    per_part = {part: options or {} for part, options in (cfg.per_part or {}).items()}  # null leaves a part as it is
    with named("per_part"):
        groups = parameter_groups(model, per_part)
    unfused = {"fused": False} if cfg.optimizer.get("fused") and _clips_in_mixed_precision(cfg) else {}
    made = make(cfg, "optimizer", groups, **unfused)
    for part, options in per_part.items():
        require_options(options, made, f"per_part.{part}")
    if any(getattr(module, "sparse", False) for module in model.modules()):
        _require_sparse(made, cfg)
    return made


def require_options(options: Mapping[str, Any], optimizer: torch.optim.Optimizer, path: str) -> None:
    """Torch takes a group's unknown option without a word, and does nothing with it.

    Raises:
        UserError: if there is one.
    """
    known = list(optimizer.defaults)
    for name in map(str, options):
        if name not in known:
            raise UserError(
                f"{path}.{name}: {type(optimizer).__name__} has no such option"
                f"{did_you_mean(nearest(name, known))} ({', '.join(known)})"
            )


def _clips_in_mixed_precision(cfg: DictConfig) -> bool:
    """Which Lightning does for no fused optimizer."""
    return cfg.trainer.get("gradient_clip_val") is not None and "mixed" in str(cfg.trainer.get("precision"))


def _require_sparse(optimizer: torch.optim.Optimizer, cfg: DictConfig) -> None:
    """Row-sparse gradients are not for every optimizer, nor for what looks at all of a gradient.

    Raises:
        UserError: if the configuration asks for both.
    """
    dense = "or leave model.embedding.sparse=false"
    if not isinstance(optimizer, (Adagrad, torch.optim.SGD)):
        name = type(optimizer).__name__
        raise UserError(f"optimizer: {name} takes no row-sparse gradients; choose optimizer=adagrad {dense}")
    if any(group["weight_decay"] for group in optimizer.param_groups):
        raise UserError(f"weight_decay: row-sparse gradients allow none; set it to 0, {dense}")
    if cfg.trainer.get("gradient_clip_val") is not None:
        raise UserError(f"trainer.gradient_clip_val: row-sparse gradients are not clipped; set it to null, {dense}")


def scheduler(cfg: DictConfig, optimizer: torch.optim.Optimizer, steps: int) -> dict[str, Any] | None:
    """Lightning's scheduler config; a scheduler by the step is told how many steps there will be."""
    if "_target_" not in cfg.scheduler:
        return None
    name = cfg.scheduler._target_.rpartition(".")[2]
    by_step: dict[str, Any] = {}
    if name == "OneCycleLR":
        by_step = {"max_lr": [group["lr"] for group in optimizer.param_groups], "total_steps": steps}
    elif name == "LinearLR":
        by_step = {"total_iters": steps}
    made = make(cfg, "scheduler", optimizer, **by_step)
    if by_step:
        return {"scheduler": made, "interval": "step"}
    return {"scheduler": made, "interval": "epoch", "monitor": "val/loss"}


def untrained(cfg: DictConfig, card: Card) -> tuple[Classifier, Loss]:
    """What is learned, for data with the card's vocabulary and classes."""
    loss: Loss = make(cfg, "loss", card.class_counts)
    return classifier(cfg, card.codec.tokenizer.vocabulary, loss.num_logits), loss


def module(cfg: DictConfig, card: Card, parts: tuple[Classifier, Loss] | None = None) -> "LitClassifier":
    """The LightningModule that trains `parts`, or new ones."""
    from src.lit import LitClassifier

    model, loss = parts or untrained(cfg, card)
    return LitClassifier(
        model,
        loss,
        len(card.class_counts),
        partial(optimizer, cfg),
        partial(scheduler, cfg),
        card.with_options(model.description_options()).to_dict(),
    )


def restore(path: str, extras: DictConfig) -> tuple[Card, tuple[Classifier, Loss]]:
    """A trained model from a checkpoint alone, and what the checkpoint says of it.

    Args:
        path: of the checkpoint.
        extras: of the command, not of the checkpoint: a file must not say itself which modules to trust.

    Raises:
        UserError: if the file is no checkpoint of Heed's, or names classes that are not trusted.
    """
    card, weights = load(path)
    cfg = card.cfg
    check(OmegaConf.create({"model": cfg.model, "loss": cfg.loss, "extras": extras}), trusted=TRUSTED_IN_CHECKPOINTS)
    model, loss = untrained(cfg, card)
    fill(torch.nn.ModuleDict({"model": model, "loss": loss}), weights, path)
    return card, (model, loss)


def fill(module: torch.nn.Module, weights: dict[str, torch.Tensor], path: str) -> None:
    """Load a checkpoint's weights into a module.

    Raises:
        UserError: if they belong to a module of other sizes, types or components.
    """
    _require_types(module, weights, path)
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        first = "; ".join(line.strip() for line in str(error).splitlines()[1:4])
        raise UserError(f"{path}: its weights do not fit this model: {first}") from error


def _require_types(module: torch.nn.Module, weights: Mapping[str, torch.Tensor], path: str) -> None:
    """Torch converts weights of another type without a word: 0.7 becomes 0 as a whole number.

    Raises:
        UserError: unless both are whole numbers of one size, or both floating point of any.
    """
    for name, own in module.state_dict().items():
        other = weights.get(name, own)
        if own.dtype != other.dtype and not (own.is_floating_point() and other.is_floating_point()):
            raise UserError(
                f"{path}: its weights do not fit this model: type mismatch for {name}: "
                f"{other.dtype} in the checkpoint, {own.dtype} in the model"
            )


def loggers(cfg: DictConfig) -> "list[Logger]":
    """The configured loggers; those that write elsewhere make sure that they can."""
    return make_all(cfg, "logger")


def trainer(cfg: DictConfig, watchers: "Sequence[pl.Callback]" = (), loggers: "Sequence[Logger]" = ()) -> "pl.Trainer":
    """The Trainer with the configured callbacks, and with the run's own watchers and loggers."""
    from lightning_fabric.plugins import TorchCheckpointIO
    from pytorch_lightning.callbacks import Checkpoint, ModelSummary, ProgressBar

    from src.checkpoint_io import ValidatedCheckpointIO

    callbacks = make_all(cfg, "callbacks")

    def chosen(kind: type) -> bool:
        return any(isinstance(callback, kind) for callback in callbacks)

    trainer: pl.Trainer = make(
        cfg,
        "trainer",
        callbacks=[*watchers, *callbacks],
        logger=list(loggers) or False,
        enable_checkpointing=chosen(Checkpoint),
        enable_progress_bar=chosen(ProgressBar),
        enable_model_summary=chosen(ModelSummary),
    )
    if type(trainer.strategy.checkpoint_io) is TorchCheckpointIO:  # not a plugin of the user's
        trainer.strategy.checkpoint_io = ValidatedCheckpointIO()
    return trainer
