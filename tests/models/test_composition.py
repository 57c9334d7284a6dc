"""Every encoder × attention × pooling, found by their YAML files, holds what the design promises of all."""

from functools import cache
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf
from torch import Tensor

from src import build
from src.models.classifier import Classifier, mean_weights

MODEL = Path(__file__).parents[2] / "conf" / "model"
VOCABULARY = ("<pad>", "<unk>", *(f"word{i}" for i in range(21)))
LENGTHS = (7, 1, 5)
LOGITS = 3
WIDTH = 12  # features of a token: heads must divide it


def choices(group: str) -> list[str]:
    return sorted(path.stem for path in (MODEL / group).glob("*.yaml"))


SMALL = {
    "hidden_dim": 6,
    "heads": 3,
    "dim": WIDTH,
    "attention_units": 5,
    "attention_dim": 5,
    "feed_forward_dim": 11,
}


def part(group: str, choice: str) -> dict[str, object]:
    """A part's own YAML with its sizes made small; options that it does not have are not invented."""
    options = OmegaConf.to_container(OmegaConf.load(MODEL / group / f"{choice}.yaml"))
    assert isinstance(options, dict)
    return {str(key): SMALL.get(str(key), value) for key, value in options.items()}


@cache
def composed(encoder: str, attention: str, pooling: str) -> Classifier:
    torch.manual_seed(0)
    parts = {
        "embedding": {**part("embedding", "learned"), "dim": WIDTH},
        "position": part("position", "none"),
        "encoder": part("encoder", encoder),
        "attention": part("attention", attention),
        "pooling": part("pooling", pooling),
        "head": part("head", "linear"),
    }
    return build.classifier(OmegaConf.create({"model": parts}), VOCABULARY, LOGITS).double()


def texts(lengths: tuple[int, ...] = LENGTHS, width: int | None = None) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(2, len(VOCABULARY), (len(lengths), 40), generator=generator)
    tokens = tokens[:, : width or max(lengths)]
    mask = torch.arange(tokens.shape[1]) < torch.tensor(lengths).unsqueeze(1)
    return tokens.masked_fill(~mask, 0), mask


COMBINATIONS = [
    pytest.param(encoder, attention, pooling, id=f"{encoder}-{attention}-{pooling}")
    for encoder in choices("encoder")
    if encoder != "pretrained"  # needs a model of its own: tests/models/encoder/test_pretrained.py
    for attention in choices("attention")
    for pooling in choices("pooling")
]


@pytest.mark.parametrize(("encoder", "attention", "pooling"), COMBINATIONS)
def test_every_combination(encoder: str, attention: str, pooling: str) -> None:
    model = composed(encoder, attention, pooling)
    tokens, mask = texts()

    model.train()
    logits = model(tokens, mask)
    assert logits.shape == (len(LENGTHS), LOGITS)
    assert torch.isfinite(logits).all()
    model.zero_grad()
    logits.square().sum().backward()
    encoded, _ = model._read(tokens, mask)  # what an attention or a pooling passes over has its part, too
    attended = model.attention(encoded)
    flow = (encoded.states, encoded.summary, attended.states, attended.summary)
    torch.stack([part.square().sum() for part in flow]).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, f"{name} is not part of the answer"
        assert torch.isfinite(parameter.grad).all(), name

    model.eval()
    with torch.no_grad():
        alone = torch.cat([model(tokens[i : i + 1, :n], mask[i : i + 1, :n]) for i, n in enumerate(LENGTHS)])
        together = model(*texts((*LENGTHS, 13), width=17))[: len(LENGTHS)]
        assert torch.allclose(together, alone, rtol=0, atol=1e-10), "padding or a longer text changed an answer"
        assert torch.isfinite(model(tokens, torch.zeros_like(mask))).all(), "an empty text gave NaN"


@pytest.mark.parametrize("attention", choices("attention"))
@pytest.mark.parametrize("encoder", [name for name in choices("encoder") if name != "pretrained"])
def test_weights_sum_to_one_over_real_tokens(encoder: str, attention: str) -> None:
    model = composed(encoder, attention, "mean").eval()
    tokens, mask = texts(width=11)
    with torch.no_grad():
        weights = model.weights(tokens, mask)  # N×H×T×L
        logits, given = model.answer(tokens, mask)
        assert torch.equal(given, weights)
        assert torch.equal(logits, model(tokens, mask))
    assert weights.shape[0] == len(LENGTHS)
    assert weights.shape[3] == tokens.shape[1]
    assert (weights >= 0).all()
    assert (weights.masked_select(~mask[:, None, None, :].expand_as(weights)) == 0).all(), "weight on padding"
    rows = weights.sum(-1)  # N×H×T
    real = mask if weights.shape[2] == mask.shape[1] else torch.ones(len(LENGTHS), 1, dtype=torch.bool)
    expected = real[:, None, :].expand_as(rows).double()
    assert torch.allclose(rows, expected, rtol=0, atol=1e-10)
    tokens_weights = mean_weights(weights)  # N×L
    assert torch.allclose(tokens_weights.sum(1), torch.ones(len(LENGTHS), dtype=torch.float64), rtol=0, atol=1e-10)
