"""Small components with the options of their YAML files, and models of them, for tests of all combinations."""

from functools import cache
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from heedful.data.padded_batches import Inputs
from heedful.models.classifier import Classifier
from heedful.training import build

MODEL = Path(__file__).parents[2] / "conf" / "model"
ENDS = {10: "!", 19: ".", 20: "?"}  # of sentences
VOCABULARY = ("<pad>", "<unk>", *(ENDS.get(i, f"word{i}") for i in range(2, 23)))
LENGTHS = (7, 1, 5)
LOGITS = 3
DIM = 12  # features of a token, divisible by the number of heads


def choices(group: str) -> list[str]:
    """The names of a group's YAML files."""
    return sorted(path.stem for path in (MODEL / group).glob("*.yaml"))


ENCODERS = [name for name in choices("encoder") if name != "pretrained"]  # tests/models/encoder/test_pretrained.py
ATTENTIONS = choices("attention")
POOLINGS = choices("pooling")
_USUAL = set(islice(zip(cycle(ENCODERS), cycle(ATTENTIONS), strict=False), max(len(ENCODERS), len(ATTENTIONS))))
# Pairs for slow tests: `make test` takes every encoder and every attention once, `make test-weekly` the others.
PAIRS = [
    pytest.param(*pair, marks=() if pair in _USUAL else pytest.mark.weekly) for pair in product(ENCODERS, ATTENTIONS)
]

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
    "dim": DIM,
    "attention_units": 5,
    "attention_dim": 5,
    "feed_forward_dim": 11,
    "buckets": 29,
    "max_length": 40,
    "window": 2,
    "rows": 3,
    "filters": 5,
    "max_sentences": 3,
}


@cache
def load_yaml(group: str, choice: str) -> dict[str, object]:
    """The options of a component's YAML file."""
    options = OmegaConf.to_container(OmegaConf.load(MODEL / group / f"{choice}.yaml"))
    return {str(key): value for key, value in options.items() if key != "defaults"}


def small_options(group: str, choice: str) -> dict[str, object]:
    """The options of a component's YAML file with small sizes; no option is added."""
    return {key: SMALL.get(key, value) for key, value in load_yaml(group, choice).items()}


def component(group: str, choice: str, *sizes: int) -> Any:
    """A new component with the options of its YAML file and small sizes."""
    cfg = OmegaConf.create({"model": {group: small_options(group, choice)}})
    return build.make(cfg, f"model.{group}", *sizes)


def compose(
    dropout: float | None = None, logits: int = LOGITS, task_scaling: str | None = None, **choices: str
) -> Classifier:
    """A new model of the components selected by group; `dropout` and `task_scaling` replace these options of theirs."""
    components = {group: small_options(group, choice) for group, choice in (BASIS | choices).items()}
    for options in components.values():
        if dropout is not None and "dropout" in options:
            options["dropout"] = dropout
        if task_scaling is not None and "task_scaling" in options:
            options["task_scaling"] = task_scaling
    return build.classifier(OmegaConf.create({"model": components}), VOCABULARY, logits)


def with_pooling(model: Classifier, pooling: Any, head: Any) -> Classifier:
    """The same embedding, position, encoder and attention with another pooling and head; the weights are shared."""
    return Classifier(model.embedding, model.position, model.encoder, model.attention, pooling, head)


def texts(lengths: tuple[int, ...] = LENGTHS, padded_length: int | None = None, device: str = "cpu") -> Inputs:
    """Random texts of these lengths."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(2, len(VOCABULARY), (len(lengths), 40), generator=generator)
    tokens = tokens[:, : padded_length or max(lengths)]
    mask = torch.arange(tokens.shape[1]) < torch.tensor(lengths).unsqueeze(1)
    return Inputs(tokens.masked_fill(~mask, 0).to(device), mask.to(device))
