"""Restore a trained model from a checkpoint, whose content may be hostile."""

import logging
import warnings
from collections.abc import Sequence

import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor, nn

from src.build.model import untrained_model
from src.checkpoint import Card, read_checkpoint
from src.config.targets import TRUSTED_IN_CHECKPOINTS
from src.config.validation import validate_config
from src.errors import UserError, name_file
from src.explain.ensemble import Ensemble, Member
from src.kernels.malloc import is_size_error
from src.models.classifier import Classifier
from src.models.loss import Loss

log = logging.getLogger(__name__)


def restore(path: str, extras: DictConfig) -> tuple[Card, tuple[Classifier, Loss]]:
    """Restore the card, the trained model and its loss from a checkpoint.

    Args:
        extras: the command's node `extras`. It replaces the node in the checkpoint, because a hostile checkpoint could
            declare any module as trusted.

    Raises:
        UserError: if the file is not a checkpoint of Heed, its configuration is invalid or names a class that is not
            trusted, or its weights do not fit its configuration.
    """
    card, content = read_checkpoint(path)
    weights = content["state_dict"]
    cfg = card.cfg
    cfg.extras = extras
    with name_file(path):
        validate_config(
            OmegaConf.create({"model": cfg.model, "loss": cfg.loss, "extras": extras}), trusted=TRUSTED_IN_CHECKPOINTS
        )
        _require_same_sizes(card, weights, path)
        return card, _load(card, weights, path)


def restore_ensemble(paths: str | Sequence[str], extras: DictConfig) -> tuple[list[Card], Ensemble]:
    """Restore one or more checkpoints, and return their cards and the ensemble of their models.

    Raises:
        UserError: if there is no path, a path occurs twice, a checkpoint cannot be restored, or the classes differ.
    """
    names = [paths] if isinstance(paths, str) else list(paths)
    if not names:
        raise UserError("ckpt_path=[]: names no checkpoint; write ckpt_path=… or ckpt_path=[…,…]")
    if len(set(names)) < len(names):
        raise UserError("ckpt_path: names a checkpoint twice, which would count twice in the mean; remove one")
    restored = [restore(name, extras) for name in names]
    members = [Member(name, *parts, card.codec) for name, (card, parts) in zip(names, restored, strict=True)]
    return [card for card, _ in restored], Ensemble(members)


def _load(card: Card, weights: dict[str, Tensor], path: str) -> tuple[Classifier, Loss]:
    model, loss = untrained_model(card.cfg, card)
    load_weights(nn.ModuleDict({"model": model, "loss": loss}), weights, path)
    return model, loss


def _require_same_sizes(card: Card, weights: dict[str, Tensor], path: str) -> None:
    """Load the weights into a model on the meta device, before a hostile card can cause a large allocation.

    Raises:
        UserError: if a component rejects an option, or if the weights do not fit the model. Other errors are logged.
    """
    try:
        with torch.device("meta"), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that nothing is copied to the meta device
            _load(card, weights, path)
    except UserError:
        raise
    except Exception as error:
        if is_size_error(error):
            raise UserError(f"{path}: the sizes in its configuration do not match its weights") from error
        log.debug("The sizes cannot be compared on the meta device: %s", error)  # a component may need real values


def load_weights(module: nn.Module, weights: dict[str, Tensor], path: str) -> None:
    """Load a checkpoint's weights into a module.

    Raises:
        UserError: if the weights and the module differ in names, in shapes, or in types that are not both
            floating-point.
    """
    for name, expected in module.state_dict().items():  # torch silently converts values, such as 0.7 to 0
        other = weights.get(name, expected)
        if expected.dtype != other.dtype and not (expected.is_floating_point() and other.is_floating_point()):
            raise UserError(
                f"{path}: its weights do not fit this model: type mismatch for {name}: "
                f"{other.dtype} in the checkpoint, {expected.dtype} in the model"
            )
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        first = "; ".join(line.strip() for line in str(error).splitlines()[1:4])
        raise UserError(f"{path}: its weights do not fit this model: {first}") from error
