"""Every component as its YAML file has it, with small sizes, and models of them: for tests of all combinations."""

from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf
from torch import Tensor

from src import build
from src.models.classifier import Classifier

MODEL = Path(__file__).parents[2] / "conf" / "model"
VOCABULARY = ("<pad>", "<unk>", *(f"word{i}" for i in range(21)))
LENGTHS = (7, 1, 5)
LOGITS = 3
WIDTH = 12  # features of a token: heads must divide it


def choices(group: str) -> list[str]:
    """The names of a group's YAML files."""
    return sorted(path.stem for path in (MODEL / group).glob("*.yaml"))


ENCODERS = [name for name in choices("encoder") if name != "pretrained"]  # tests/models/encoder/test_pretrained.py
ATTENTIONS = choices("attention")
POOLINGS = choices("pooling")

BASIS = {
    "embedding": "learned",
    "position": "none",
    "encoder": "identity",
    "attention": "none",
    "pooling": "mean",
    "head": "linear",
}
SMALL = {
    "hidden_dim": 6,
    "heads": 3,
    "dim": WIDTH,
    "attention_units": 5,
    "attention_dim": 5,
    "feed_forward_dim": 11,
    "buckets": 29,
    "max_length": 40,
    "window": 2,
}


def part(group: str, choice: str) -> dict[str, object]:
    """A part's own YAML with its sizes made small; options that it does not have are not invented."""
    options = OmegaConf.to_container(OmegaConf.load(MODEL / group / f"{choice}.yaml"))
    assert isinstance(options, dict)
    return {str(key): SMALL.get(str(key), value) for key, value in options.items()}


def component(group: str, choice: str, *sizes: int, dropout: float | None = None) -> Any:
    """A component of its own; `dropout` replaces its probability where it has one."""
    options = part(group, choice)
    if dropout is not None and "dropout" in options:
        options["dropout"] = dropout
    return build.make(OmegaConf.create({group: options}), group, *sizes)


def compose(dropout: float | None = None, **chosen: str) -> Classifier:
    """A new model of the components that are chosen, by group; `dropout` replaces each component's own probability."""
    parts = {group: part(group, choice) for group, choice in (BASIS | chosen).items()}
    for options in parts.values():
        if dropout is not None and "dropout" in options:
            options["dropout"] = dropout
    return build.classifier(OmegaConf.create({"model": parts}), VOCABULARY, LOGITS)


def texts(lengths: tuple[int, ...] = LENGTHS, width: int | None = None) -> tuple[Tensor, Tensor]:
    """Random tokens and their mask, N×L each."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(2, len(VOCABULARY), (len(lengths), 40), generator=generator)
    tokens = tokens[:, : width or max(lengths)]
    mask = torch.arange(tokens.shape[1]) < torch.tensor(lengths).unsqueeze(1)
    return tokens.masked_fill(~mask, 0), mask
