"""Restore trained models, and begin trainings with their weights."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor, nn

from heedful.base.errors import UserError, is_size_error, name_file
from heedful.config.keys import ALWAYS_TAKEN, OF_TRAINING, changed_options
from heedful.config.places import TRUSTED_IN_CHECKPOINTS
from heedful.config.schema import validate_config
from heedful.models.classifier import Classifier
from heedful.models.ensemble import Member
from heedful.models.loss import Loss
from heedful.runs.checkpoint import Card, read_checkpoint
from heedful.runs.folder import BEST, checkpoint_in
from heedful.tasks.stored import trusting
from heedful.training.build import on_meta_device, untrained_model


def restore(path: str, extras: DictConfig) -> Member:
    """Restore a trained model from a checkpoint; its own `extras`, which could trust any module, are not read."""
    with trusting(extras.get("trusted_modules") or ()):
        card, content = read_checkpoint(path)
    weights = content["state_dict"]
    cfg = card.cfg("model", "loss")
    cfg.extras = extras

    def load() -> tuple[Classifier, Loss]:
        with torch.random.fork_rng(devices=[]):  # the weights that are drawn are replaced
            model, loss = untrained_model(cfg, card)
        load_weights(nn.ModuleDict({"model": model, "loss": loss}), weights, path)
        return model, loss

    with name_file(path):
        validate_config(cfg, trusted=TRUSTED_IN_CHECKPOINTS)
        try:
            with on_meta_device():  # before a hostile card can cause a large allocation
                load()
        except Exception as error:
            if not is_size_error(error):
                raise
            raise UserError(f"{path}: the sizes in its configuration do not match its weights") from error
        return Member(path, card, *load())


def load_weights(module: nn.Module, weights: dict[str, Tensor], path: str) -> None:
    """Load a checkpoint's weights into a module."""
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        first = "; ".join(line.strip() for line in str(error).splitlines()[1:4])
        raise UserError(f"{path}: its weights do not fit this model: {first}") from error


def take_weights(model: Classifier, card: Card, path: str) -> str:
    """Start the training of a model, with this card, with the weights of the model `path`, and say what is taken.

    The tokenizer, embedding, position and encoder must be the same. Of the other components, those with equal options
    and sizes are taken, and those that depend on the classes only if the classes are equal.
    """
    origin, content = read_checkpoint(checkpoint_in(path, BEST))  # nothing of it is run

    def options(config: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
        return {f"model.{name}": config["model"].get(name) for name in names}

    both = [
        options(described.config, ALWAYS_TAKEN) | {"data.tokenizer": described.config["data"].get("tokenizer")}
        for described in (origin, card)
    ]
    if changes := changed_options(both[0], both[1], OF_TRAINING):
        raise UserError(f"init_from={path}: {'; '.join(changes)}. Set what that model has, or remove init_from")
    taken, new = ["tokenizer"], list[str]()
    has_equal_classes = origin.codec.task.outputs == card.codec.task.outputs
    for name, part in model.named_children():
        prefix = f"model.{name}."
        stored = content["state_dict"].items()
        weights = {key.removeprefix(prefix): weight for key, weight in stored if key.startswith(prefix)}
        sizes = [{key: weight.shape for key, weight in state.items()} for state in (weights, part.state_dict())]
        is_general = has_equal_classes or not (name == "head" or getattr(part, "per_class", False))
        is_equal = not changed_options(options(origin.config, [name]), options(card.config, [name]), OF_TRAINING)
        if name == "branch" or not (is_equal and is_general and sizes[0] == sizes[1]):
            new.append(name)
        elif weights:
            part.load_state_dict(weights)
            taken.append(name)
    return f"From {path}: {', '.join(taken)}. New: {', '.join(new) or 'nothing'}."
