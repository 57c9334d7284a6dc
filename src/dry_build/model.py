"""The dry build of a model: first each component alone, then the whole model."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from src import build
from src.build.objects import class_at
from src.config.keys import MODEL_COMPONENTS
from src.config.mistakes import Mistake
from src.data.trained_tokenizer import PAD, UNKNOWN
from src.dry_build.invalid_options import BuildResult, build_valid, check_mistakes
from src.kernels.malloc import require_memory
from src.models.shape_check import check_shapes

FEATURES = 128  # input size of a component if none of the previous components can be built
VOCABULARY = (PAD, UNKNOWN)


def build_model(cfg: DictConfig) -> BuildResult:
    """Construct the model on the meta device; the result has no model if a component is missing, pretrained or invalid.

    A model with a pretrained component is not constructed, because reading pretrained files takes a long time.
    """
    if is_pretrained(cfg) or any(OmegaConf.select(cfg, f"model.{name}._target_") is None for name in MODEL_COMPONENTS):
        return BuildResult(None, [])
    with torch.device("meta"):
        if mistakes := list(_component_mistakes(cfg)):
            return BuildResult(None, mistakes)
        model, mistakes = build_valid(cfg, "model", dry_classifier)
        if model is not None:
            mistakes += check_mistakes(lambda: require_memory(model), "model")
            mistakes += check_mistakes(lambda: check_shapes(model, num_logits=1), "model")
        return BuildResult(model, mistakes)


def dry_classifier(cfg: DictConfig) -> Any:
    """Construct the model for one logit and a vocabulary without words."""
    return build.classifier(cfg, VOCABULARY, 1)


def is_pretrained(cfg: DictConfig) -> bool:
    """Return whether a component of the model is pretrained."""
    return any(getattr(class_at(cfg, f"model.{name}"), "is_pretrained", False) for name in MODEL_COMPONENTS)


def _component_mistakes(cfg: DictConfig) -> Iterator[Mistake]:
    """Find mistakes in the model's components, each built with the output size of the previous one as input size."""
    input_dim = FEATURES
    is_exact = True  # False after a mistake, because `input_dim` is then a guess
    for name in MODEL_COMPONENTS:
        key = f"model.{name}"
        component, mistakes = build_valid(cfg, key, partial(_make, name=name, input_dim=input_dim))
        if mistakes and not is_exact:  # an error that depends on the guess is only a consequence of an earlier mistake
            others = build_valid(cfg, key, partial(_make, name=name, input_dim=input_dim + 1)).mistakes
            mistakes = [mistake for mistake in mistakes if mistake in others]
        if component is not None:
            mistakes += check_mistakes(component.require_files, key)
        yield from mistakes
        output = getattr(component, "output_dim", None)
        is_exact = is_exact and not mistakes and isinstance(output, int)
        input_dim = output if isinstance(output, int) else input_dim


def _make(cfg: DictConfig, name: str, input_dim: int) -> Any:
    sizes: dict[str, tuple[Any, ...]] = {"embedding": (VOCABULARY,), "head": (input_dim, 1)}
    return build.make(cfg, f"model.{name}", *sizes.get(name, (input_dim,)))
