"""The initial vectors of the learned embedding."""

import math

import pytest
import torch

from heedful.models.embedding.learned import LearnedEmbedding

VOCABULARY = [f"word{i}" for i in range(997)]
D = 13


def test_the_default_initial_vectors_equal_those_of_torch() -> None:
    torch.manual_seed(3)
    table = LearnedEmbedding(VOCABULARY, dim=D).table.weight
    torch.manual_seed(3)
    assert torch.equal(table, torch.nn.Embedding(len(VOCABULARY), D).weight)


@pytest.mark.parametrize(("init", "std"), [("normal", 0.02), ("uniform", 0.02 / math.sqrt(3))])
def test_init_scale_is_a_standard_deviation_or_a_bound(init: str, std: float) -> None:
    torch.manual_seed(0)
    table = LearnedEmbedding(VOCABULARY, dim=D, init=init, init_scale=0.02).table.weight  # type: ignore[arg-type]
    assert table.mean().item() == pytest.approx(0, abs=4 * std / math.sqrt(table.numel()))
    assert table.std().item() == pytest.approx(std, rel=0.03)
    assert (table.abs().max() <= 0.02) == (init == "uniform")
    assert table.requires_grad
